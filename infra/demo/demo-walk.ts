/** The demo's walk: an unread message is found, read and answered, and the answer arrives back in the inbox. */
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { DemoFacts } from './demo-facts.ts';

const Found = z.object({
  items: z.array(z.object({ id: z.string(), subject: z.string().nullable() })),
  page: z.object({ as_of: z.string() }),
});
const Message = z.object({ body: z.object({ content: z.string() }) });
const Draft = z.object({ id: z.string(), subject: z.string().nullable() });
const Sent = z.object({ status: z.string() });
const Awaited = z.object({ status: z.string() });

const WAIT_SECONDS = 20;
const REPLY = 'Thank you, I will look at it.';

/** One call of the walk; a path is under `/api/v1`, `$M` in it is the mailbox. */
type Call = readonly [method: 'GET' | 'POST', path: string, body?: object];

/** Walks once and prints each call with its result. Throws when a step is refused. */
export async function walkDemo(facts: DemoFacts, say: (line: string) => void): Promise<void> {
  const self = facts.imap.user;
  const domain = self.split('@')[1] ?? '';
  const step = async <T>(shape: z.ZodType<T>, call: Call, tell: (answer: T) => string): Promise<T> => {
    const answer = shape.parse(await run(facts, call));
    say(`  ${call[0].padEnd(4)} ${short(call[1]).padEnd(46)} ${tell(answer)}`);
    return answer;
  };

  say('\nA walk through it:\n');
  const newest: Call = ['GET', '/mailboxes/$M/messages?limit=3'];
  await step(Found, newest, ({ items }) => `the newest: ${quoted(items[0]?.subject)}`);
  const query: Call = [
    'POST',
    '/mailboxes/$M/email.query',
    { select: { filter: unreadFrom(domain), limit: 1 } },
  ];
  const found = await step(
    Found,
    query,
    ({ items }) => `unread, from ${domain}: ${quoted(items[0]?.subject)}`,
  );
  const [message] = found.items;
  if (message === undefined) throw new Error(`The mailbox has no unread message from ${domain}.`);
  const read: Call = ['GET', `/mailboxes/$M/messages/${message.id}?include_body=text`];
  await step(Message, read, ({ body }) => `${quoted(body.content)}, which leaves it unread`);
  const reply = { message_id: message.id, text: REPLY, to_add: [{ email: self }] };
  const draft = await step(
    Draft,
    ['POST', '/mailboxes/$M/reply_to_thread', reply],
    ({ subject }) => `a draft: ${quoted(subject)}`,
  );
  await step(
    Sent,
    ['POST', `/drafts/${draft.id}/send_draft`, {}],
    ({ status }) => `${status}: the policy lets mail within ${domain} go`,
  );
  const arrival = {
    for: 'message',
    select: { folder: 'inbox', filter: { subject_contains: draft.subject ?? '' } },
    cursor: found.page.as_of,
    timeout_seconds: WAIT_SECONDS,
  };
  await step(
    Awaited,
    ['POST', '/mailboxes/$M/email.await', arrival],
    ({ status }) => `${status}: it is back in the inbox`,
  );
}

/** The same calls for a shell. */
export function walkByHand(facts: DemoFacts): string {
  const self = facts.imap.user;
  const domain = self.split('@')[1] ?? '';
  const unread = JSON.stringify({ select: { filter: unreadFrom(domain), limit: 1 } });
  const json = (value: object): string => JSON.stringify(value).replaceAll('"', '\\"');
  return `The walk by hand:

  T=${facts.rest_token}
  API=${facts.base_url}/api/v1; M=${facts.mailbox_id}
  call() { curl -sw '\\n' -H "Authorization: Bearer $T" -H 'Content-Type: application/json' -H "Idempotency-Key: $(node -p 'crypto.randomUUID()')" "$@"; }
  field() { node -p "JSON.parse(require('fs').readFileSync(0)).$1"; }
  call "$API/mailboxes/$M/messages?limit=3"
  FOUND=$(call "$API/mailboxes/$M/email.query" -d '${unread}'); printf '%s\\n' "$FOUND"
  ID=$(printf %s "$FOUND" | field 'items[0].id'); SINCE=$(printf %s "$FOUND" | field page.as_of)
  call "$API/mailboxes/$M/messages/$ID?include_body=text"
  D=$(call "$API/mailboxes/$M/reply_to_thread" -d "${json({ message_id: '$ID', text: REPLY, to_add: [{ email: self }] })}" | field id)
  call "$API/drafts/$D/send_draft" -d '{}'
  call "$API/mailboxes/$M/email.await" -d "${json({ for: 'message', select: { folder: 'inbox' }, cursor: '$SINCE' })}"`;
}

const unreadFrom = (domain: string): object => ({ seen: false, from_domain: domain });

const ID = /(msg|drf)_(.{4})[^/?]+/;
const short = (path: string): string => path.replace(ID, '$1_$2…');

/** The beginning of a text on one line. */
function quoted(text: string | null | undefined): string {
  const line = (text ?? '').replaceAll(/\s+/g, ' ').trim();
  return line.length > 40 ? `“${line.slice(0, 40)}…”` : `“${line}”`;
}

async function run(facts: DemoFacts, [method, path, body]: Call): Promise<unknown> {
  const url = `${facts.base_url}/api/v1${path.replace('$M', facts.mailbox_id)}`;
  const response = await fetch(url, {
    method,
    headers: {
      authorization: `Bearer ${facts.rest_token}`,
      ...(body && { 'content-type': 'application/json', 'idempotency-key': randomUUID() }),
    },
    ...(body && { body: JSON.stringify(body) }),
  });
  const answer: unknown = await response.json();
  if (!response.ok) throw new Error(`The walk ended at ${method} ${path}: ${JSON.stringify(answer)}`);
  return answer;
}
