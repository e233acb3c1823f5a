/** The `McpCalls` port: calls of this process in memory, cancellations for other processes by NOTIFY. */
import { hash } from 'node:crypto';
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
    const onNotification = (told: string): void => {
      for (const name of this.#open.keys()) if (hashOf(name) === told) this.#abort(name);
    };
    this.#listening = listen({ ...options, channel: CHANNEL, onNotification }, this.#ending.signal);
  }

  open(call: CallName): OpenCall {
    const name = nameOf(call);
    const controller = new AbortController();
    this.#open.set(name, controller);
    return {
      cancelled: controller.signal,
      [Symbol.dispose]: () => {
        // A client that reused the id has another call under it by now.
        if (this.#open.get(name) === controller) this.#open.delete(name);
      },
    };
  }

  async cancel(call: CallName): Promise<void> {
    const name = nameOf(call);
    if (!this.#abort(name)) await this.#sql.query('select pg_notify($1, $2)', [CHANNEL, hashOf(name)]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ending.abort();
    await this.#listening;
  }

  #abort(name: string): boolean {
    const controller = this.#open.get(name);
    controller?.abort();
    return controller !== undefined;
  }
}

const nameOf = ({ sessionId, requestId }: CallName): string => `${sessionId}\n${JSON.stringify(requestId)}`;

/**
 * Every process of the database receives the channel, so it carries a hash: a session id would give access to
 * the session.
 */
const hashOf = (name: string): string => hash('sha256', name, 'base64url');
