/** The `McpCalls` port: calls of this process in memory, cancellations for other processes by NOTIFY. */
import { createHash } from 'node:crypto';
import type { CallName, McpCalls, OpenCall } from '../../commands/ports/mcp.ts';
import type { Clock, Log, Sql } from '../../commands/ports/ports.ts';
import { listen } from './listen.ts';

const CHANNEL = 'mcp_call_cancelled';

export interface McpCallsOptions {
  readonly sql: Sql;
  readonly directUrl: string;
  readonly clock: Clock;
  readonly log: Log;
}

export class PostgresMcpCalls implements McpCalls, AsyncDisposable {
  readonly #sql: Sql;
  readonly #open = new Map<string, AbortController>();
  readonly #ending = new AbortController();
  readonly #listening: Promise<void>;

  constructor({ sql, ...options }: McpCallsOptions) {
    this.#sql = sql;
    const onNotification = (key: string): void => {
      this.#abort(key);
    };
    this.#listening = listen({ ...options, channel: CHANNEL, onNotification }, this.#ending.signal);
  }

  open(call: CallName): OpenCall {
    const key = keyOf(call);
    const controller = new AbortController();
    this.#open.set(key, controller);
    return {
      cancelled: controller.signal,
      [Symbol.dispose]: () => {
        // A client that reused the id has another call under it by now.
        if (this.#open.get(key) === controller) this.#open.delete(key);
      },
    };
  }

  async cancel(call: CallName): Promise<void> {
    const key = keyOf(call);
    if (!this.#abort(key)) await this.#sql.query('select pg_notify($1, $2)', [CHANNEL, key]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ending.abort();
    await this.#listening;
  }

  #abort(key: string): boolean {
    const controller = this.#open.get(key);
    controller?.abort();
    return controller !== undefined;
  }
}

/**
 * Every process of the database receives the channel, so it carries a hash: a session id would give access to
 * the session.
 */
const keyOf = ({ sessionId, requestId }: CallName): string =>
  createHash('sha256')
    .update(`${sessionId}\n${JSON.stringify(requestId)}`)
    .digest('base64url');
