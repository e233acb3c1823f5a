/** The open connections of a mailbox that nobody uses at the moment. */
import type { ImapConnection } from './imap-connection.ts';

/** Who used a connection last: callers leave folders open that the next one needs. */
export type User = 'callers' | 'worker';

export interface IdleOptions {
  readonly idleMs: number;
  readonly maxAgeMs: number;
  readonly now: () => number;
  /** Logs out. */
  readonly dismiss: (connection: ImapConnection) => void;
}

interface Idle {
  readonly connection: ImapConnection;
  readonly user: User;
  /** When its user gave it back. */
  readonly since: number;
  readonly timer: NodeJS.Timeout;
}

/** The worker's connection is kept for shorter: there are many workers, and each seldom has work. */
const WORKER_IDLE_MS = 20_000;

/** Callers that need a connection again soon get it again within this. */
const SOON_MS = 1_000;

export class IdleConnections {
  readonly #options: IdleOptions;
  /** In the order in which callers used them; those that the worker used come first. */
  #idle: readonly Idle[] = [];

  constructor(options: IdleOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#idle.length;
  }

  /** The one that callers used last; that of the worker where there is no other. */
  takeForCallers(): ImapConnection | null {
    return this.#take(() => this.#idle.findLast(({ user }) => user === 'callers') ?? this.#idle.at(-1));
  }

  /** The worker's own, or one that callers do not need again soon. */
  takeForWorker(): { readonly connection: ImapConnection; readonly user: User } | null {
    const { now } = this.#options;
    let user: User = 'worker';
    const connection = this.#take(() => {
      const found =
        this.#idle.find((each) => each.user === 'worker') ??
        this.#idle.find(({ since }) => now() - since >= SOON_MS);
      user = found?.user ?? user;
      return found;
    });
    return connection && { connection, user };
  }

  /** The one that callers need least. */
  takeOldest(): ImapConnection | null {
    return this.#take(() => this.#idle[0]);
  }

  /** Keeps a usable connection for a while. `usedBy` the worker, it may still be one of the callers. */
  keep(connection: ImapConnection, user: User, usedBy: User = user): void {
    const { idleMs, now, dismiss } = this.#options;
    const lastsMs = user === 'worker' ? Math.min(idleMs, WORKER_IDLE_MS) : idleMs;
    const timer = setTimeout(() => {
      this.#idle = this.#idle.filter((idle) => idle.connection !== connection);
      dismiss(connection);
    }, lastsMs);
    timer.unref();
    // What the worker borrowed, callers had not used for a while already.
    const since = user === 'callers' && usedBy === 'worker' ? -Infinity : now();
    const idle = { connection, user, since, timer };
    this.#idle = usedBy === 'worker' ? [idle, ...this.#idle] : [...this.#idle, idle];
  }

  isOld({ openedAt }: ImapConnection): boolean {
    return this.#options.now() - openedAt > this.#options.maxAgeMs;
  }

  /** Keeps none any more; returns them. */
  clear(): readonly ImapConnection[] {
    const all = this.#idle;
    this.#idle = [];
    for (const { timer } of all) clearTimeout(timer);
    return all.map(({ connection }) => connection);
  }

  /** Those that are lost or too old are dismissed on the way. */
  #take(find: () => Idle | undefined): ImapConnection | null {
    for (let idle = find(); idle !== undefined; idle = find()) {
      const { connection, timer } = idle;
      clearTimeout(timer);
      this.#idle = this.#idle.filter((other) => other.connection !== connection);
      if (connection.isUsable && !this.isOld(connection)) {
        connection.hasAnswered = false;
        return connection;
      }
      this.#options.dismiss(connection);
    }
    return null;
  }
}
