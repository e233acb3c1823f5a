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
  /**
   * In the order of their beginning. A list, because a `Map` that has an entry for each request is copied again and again,
   * and what its former copies held is kept until the next full collection.
   */
  readonly #open: NamedCall[] = [];
  readonly #ending = new AbortController();
  readonly #listening: Promise<void>;

  constructor({ sql, ...options }: McpCallsOptions) {
    this.#sql = sql;
    const onNotification = (told: string): void => {
      for (const { name } of [...this.#open]) if (hashOf(name) === told) this.#cancel(name);
    };
    this.#listening = listen({ ...options, channel: CHANNEL, onNotification }, this.#ending.signal);
  }

  open(call: CallName): OpenCall {
    const opened = new NamedCall(nameOf(call), (ended) => {
      const at = this.#open.lastIndexOf(ended);
      if (at >= 0) this.#open.splice(at, 1);
    });
    this.#open.push(opened);
    return opened;
  }

  async cancel(call: CallName): Promise<void> {
    const name = nameOf(call);
    if (!this.#cancel(name)) await this.#sql.query('select pg_notify($1, $2)', [CHANNEL, hashOf(name)]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ending.abort();
    await this.#listening;
  }

  /** False when no call here has the name. A client that reused an id means its newest call. */
  #cancel(name: string): boolean {
    const call = this.#open.findLast((one) => one.name === name);
    call?.cancel();
    return call !== undefined;
  }
}

class NamedCall implements OpenCall {
  readonly name: string;
  readonly #end: (call: NamedCall) => void;
  readonly #listeners: (() => void)[] = [];
  #isCancelled = false;

  constructor(name: string, end: (call: NamedCall) => void) {
    this.name = name;
    this.#end = end;
  }

  onCancelled(listener: () => void): void {
    if (this.#isCancelled) listener();
    else this.#listeners.push(listener);
  }

  cancel(): void {
    this.#isCancelled = true;
    for (const listener of this.#listeners.splice(0)) listener();
  }

  [Symbol.dispose](): void {
    this.#end(this);
  }
}

const nameOf = ({ sessionId, requestId }: CallName): string => `${sessionId}\n${JSON.stringify(requestId)}`;

/**
 * Every process of the database receives the channel, so it carries a hash: a session id would give access to
 * the session.
 */
const hashOf = (name: string): string => hash('sha256', name, 'base64url');
