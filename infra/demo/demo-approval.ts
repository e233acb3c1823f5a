/** The end of the demo's walk: an agent asks over MCP to send a mail, and the send waits for a person. */
import { z } from 'zod';
import type { DemoFacts } from './demo-facts.ts';

const Answer = z.object({
  result: z.object({ isError: z.boolean().optional(), structuredContent: z.unknown() }),
});
const Written = z.object({ draft_id: z.string() });
const Waiting = z.object({
  status: z.literal('awaiting_approval'),
  approval: z.object({ id: z.string() }),
});

const LETTER = {
  subject: 'Minutes of today’s meeting',
  text: 'Hello,\n\nhere are the minutes of today. Shall I book the room for next week?\n\nThe demo agent',
};

/** Where the person behind the demo decides, once it is signed in. */
export const approvalLink = (facts: DemoFacts, approvalId: string): string =>
  `${facts.base_url}/console#/approvals/${approvalId}`;

/** Sends as the demo's agent and prints each call. Returns the id of the approval that waits. Throws when a step is refused. */
export async function askAsAgent(facts: DemoFacts, say: (line: string) => void): Promise<string> {
  const agent = await McpAgent.connect(facts);
  const step = async <T>(shape: z.ZodType<T>, operation: object, tell: (answer: T) => string): Promise<T> => {
    const answer = shape.parse(await agent.act(operation));
    say(`  MCP  ${'email_act'.padEnd(46)} ${tell(answer)}`);
    return answer;
  };
  say('\nAn agent, over MCP:\n');
  const draft = { to: [{ email: facts.imap.user }], ...LETTER };
  const { draft_id: draftId } = await step(
    Written,
    { type: 'draft_create', draft },
    () => `a draft: “${LETTER.subject}”`,
  );
  const { approval } = await step(
    Waiting,
    { type: 'draft_send', draft_id: draftId },
    ({ status }) => `${status}: nothing was sent`,
  );
  return approval.id;
}

const Approvals = z.object({ items: z.array(z.object({ id: z.string() })) });

/** The newest approval that waits for a person, say since the demo ran before; null when none does. */
export async function stillWaiting({ base_url, rest_token }: DemoFacts): Promise<string | null> {
  const response = await fetch(`${base_url}/api/v1/approvals?status=awaiting_approval&limit=1`, {
    headers: { authorization: `Bearer ${rest_token}` },
  });
  if (!response.ok) throw new Error(`GET /approvals answered ${String(response.status)}.`);
  return Approvals.parse(await response.json()).items[0]?.id ?? null;
}

/** As much of an MCP client as one tool call needs (revision 2025-11-25). */
class McpAgent {
  readonly #facts: DemoFacts;
  readonly #sessionId: string;
  #calls = 0;

  private constructor(facts: DemoFacts, sessionId: string) {
    this.#facts = facts;
    this.#sessionId = sessionId;
  }

  static async connect(facts: DemoFacts): Promise<McpAgent> {
    const clientInfo = { name: 'demo-agent', version: '1' };
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo };
    const response = await post(facts, {}, { id: 0, method: 'initialize', params });
    const sessionId = response.headers.get('mcp-session-id') ?? '';
    await response.body?.cancel();
    return new McpAgent(facts, sessionId);
  }

  async act(operation: object): Promise<unknown> {
    this.#calls += 1;
    const input = {
      mailbox_id: this.#facts.mailbox_id,
      operation,
      authorization: { reason: 'Everybody who was there asked for the minutes.' },
      idempotency_key: crypto.randomUUID(),
    };
    const params = { name: 'email_act', arguments: input };
    const session = { 'mcp-session-id': this.#sessionId, 'mcp-protocol-version': '2025-11-25' };
    const response = await post(this.#facts, session, { id: this.#calls, method: 'tools/call', params });
    const { result } = Answer.parse(await response.json());
    if (result.isError === true) throw new Error(`The agent got ${JSON.stringify(result.structuredContent)}`);
    return result.structuredContent;
  }
}

async function post(facts: DemoFacts, headers: Record<string, string>, message: object): Promise<Response> {
  const response = await fetch(facts.mcp_url, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${facts.mcp_token}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...headers,
    },
    body: JSON.stringify({ jsonrpc: '2.0', ...message }),
  });
  if (!response.ok) throw new Error(`The agent got ${String(response.status)}: ${await response.text()}`);
  return response;
}
