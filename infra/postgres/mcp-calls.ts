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
  readonly #open = new Map<string, RunningCall>();
  readonly #ending = new AbortController();
  readonly #listening: Promise<void>;

  constructor({ sql, ...options }: McpCallsOptions) {
    this.#sql = sql;
    const onNotification = (told: string): void => {
      for (const name of this.#open.keys()) if (hashOf(name) === told) this.#cancel(name);
    };
    this.#listening = listen({ ...options, channel: CHANNEL, onNotification }, this.#ending.signal);
  }

  open(call: CallName): OpenCall {
    const name = nameOf(call);
    const opened = new RunningCall(() => {
      // A client that reused the id has another call under it by now.
      if (this.#open.get(name) === opened) this.#open.delete(name);
    });
    this.#open.set(name, opened);
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

  /** False when no call here has the name. */
  #cancel(name: string): boolean {
    const call = this.#open.get(name);
    call?.cancel();
    return call !== undefined;
  }
}

class RunningCall implements OpenCall {
  readonly #end: () => void;
  readonly #listeners: (() => void)[] = [];
  #isCancelled = false;

  constructor(end: () => void) {
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
    this.#end();
  }
}

const nameOf = ({ sessionId, requestId }: CallName): string => `${sessionId}\n${JSON.stringify(requestId)}`;

/**
 * Every process of the database receives the channel, so it carries a hash: a session id would give access to
 * the session.
 */
const hashOf = (name: string): string => hash('sha256', name, 'base64url');
