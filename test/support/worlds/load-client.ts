/** A client as behind a load balancer: repeats the request on the next replica until its answer is final. */
import { setTimeout as delay } from 'node:timers/promises';
import { callRest } from './gateway.ts';
import { callOf, openSession, rawMcp } from './mcp/raw-mcp.ts';

export interface LoadTokens {
  readonly rest_token: string;
  readonly mcp_token: string;
}

/** The result of one attempt. */
interface Answered {
  readonly status: 'done' | 'again' | 'refused';
  readonly body: unknown;
}

type Attempt = (address: string) => Promise<Answered>;

interface ToolAnswer {
  readonly result?: { readonly isError: boolean; readonly structuredContent: unknown };
  readonly error?: { readonly data?: unknown };
}

const REVISION = '2025-06-18';
const PAUSE_MS = 50;
const GIVE_UP_MS = 90_000;

export class LoadClient {
  readonly #addresses: () => readonly string[];
  readonly #tokens: LoadTokens;
  #session: Record<string, string> | null = null;
  #turn = 0;
  #isOver = false;
  /** Requests answered, and attempts without an answer. */
  answered = 0;
  disturbed = 0;

  /** `addresses` is called before every attempt: a restarted replica listens elsewhere. */
  constructor(addresses: () => readonly string[], tokens: LoadTokens) {
    this.#addresses = addresses;
    this.#tokens = tokens;
  }

  /** The body of the final answer. Throws when it is a refusal that a repeat would not change. */
  async rest<T>(method: string, path: string, body: unknown, key: string | null): Promise<T> {
    const token = this.#tokens.rest_token;
    const answer = await this.#untilAnswered(`${method} ${path}`, async (address) => {
      const told = await callRest(address, [method, path, body], { token, ...(key !== null && { key }) });
      // An object created through one replica is known to the other a moment later.
      if (told.status === 404) return { status: 'again', body: told.body };
      return judge(told.status < 300, told.body);
    });
    return answer as T;
  }

  /** The same through `tools/call`, in a session that is reopened when it is lost. */
  async tool<T>(name: string, args: object): Promise<T> {
    const bearer = this.#tokens.mcp_token;
    const answer = await this.#untilAnswered(name, async (address) => {
      const url = `${address}/mcp`;
      const headers = (this.#session ??= await openSession(url, REVISION, bearer));
      const { status, body } = await rawMcp(url, { bearer, headers, body: callOf(name, args) });
      if (status === 404) this.#session = null;
      if (status === 404) return { status: 'again', body };
      const { result, error } = (body ?? {}) as ToolAnswer;
      if (result) return judge(!result.isError, result.structuredContent);
      return judge(false, error?.data ?? body);
    });
    return answer as T;
  }

  /** Requests without an answer yet are not sent again, nor any later ones: they throw. */
  giveUp(): void {
    this.#isOver = true;
  }

  async #untilAnswered(what: string, attempt: Attempt): Promise<unknown> {
    const giveUpAt = performance.now() + GIVE_UP_MS;
    for (;;) {
      if (this.#isOver) throw new Error(`given up: ${what}`);
      const addresses = this.#addresses();
      this.#turn += 1;
      const address = addresses[this.#turn % addresses.length] ?? '';
      const { status, body } = await attempt(address).catch(
        // The connection broke or was refused: the outcome of the request is unknown.
        (error: unknown): Answered => ({ status: 'again', body: String(error) }),
      );
      if (status === 'done') {
        this.answered += 1;
        return body;
      }
      this.disturbed += 1;
      const text = `${what}: ${JSON.stringify(body)}`;
      if (status === 'refused') throw new Error(text);
      if (performance.now() > giveUpAt) throw new Error(`no answer for ${String(GIVE_UP_MS)} ms; ${text}`);
      await delay(PAUSE_MS);
    }
  }
}

function judge(isDone: boolean, body: unknown): Answered {
  if (isDone) return { status: 'done', body };
  const { error } = (body ?? {}) as { readonly error?: { readonly retryable?: boolean } };
  return { status: error?.retryable === true ? 'again' : 'refused', body };
}
