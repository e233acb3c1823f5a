/** The connections of one mailbox: few, kept for the next caller, one always left for interactive work. */
import { GatewayError } from '../../commands/kernel/errors.ts';
import type { Lane } from '../../commands/kernel/mail-port.ts';
import type { ImapConnection } from './imap-connection.ts';
import { unavailable } from './mail-errors.ts';

export interface PoolOptions {
  readonly limit: number;
  readonly open: () => Promise<ImapConnection>;
  readonly idleMs: number;
  readonly maxAgeMs: number;
  readonly waitMs: number;
  readonly now: () => number;
}

/** A connection lent for one operation or query. */
export interface Lease {
  readonly connection: ImapConnection;
  /** It was opened for this lease. */
  readonly isNew: boolean;
  /** Ends the connection and opens another in its place. Throws as opening does. */
  renew(): Promise<void>;
  /** `end` when the next caller is not expected soon. */
  release(then?: 'keep' | 'end'): void;
}

interface Waiter {
  readonly lane: Lane;
  readonly go: () => void;
  readonly fail: (error: GatewayError) => void;
}

interface Idle {
  readonly connection: ImapConnection;
  readonly timer: NodeJS.Timeout;
}

const MAX_WAITERS = 200;

export class ConnectionPool {
  readonly #options: PoolOptions;
  readonly #idle: Idle[] = [];
  readonly #inUse: Record<Lane, number> = { interactive: 0, bulk: 0 };
  readonly #lent = new Set<ImapConnection>();
  #waiters: Waiter[] = [];
  #ended = false;

  constructor(options: PoolOptions) {
    this.#options = options;
  }

  /**
   * A kept connection where there is one; for `new` only when no other may be opened beside it. Throws `overloaded` when
   * nothing gets free in time, and what opening a connection throws.
   */
  async acquire(lane: Lane, prefer: 'kept' | 'new' = 'kept'): Promise<Lease> {
    await this.#takeSlot(lane);
    try {
      const kept = prefer === 'new' && this.#mayOpen() ? null : this.#takeIdle();
      return this.#lease(lane, kept ?? (await this.#openFor()), kept === null);
    } catch (error) {
      this.#freeSlot(lane);
      throw error;
    }
  }

  /**
   * Lends nothing more: idle connections end now, lent ones when they come back (`now`: at once), and who waits is
   * told to try again.
   */
  end(now = false): void {
    this.#ended = true;
    for (const { connection, timer } of this.#idle.splice(0)) {
      clearTimeout(timer);
      if (now) connection.close();
      else quietLogOut(connection);
    }
    if (now) for (const connection of this.#lent) connection.close();
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const { fail } of waiters) {
      fail(unavailable('disconnected', 'The connections of this mailbox were ended; try again.'));
    }
  }

  #lease(lane: Lane, first: ImapConnection, isNew: boolean): Lease {
    let connection = first;
    let released = false;
    this.#lent.add(connection);
    return {
      isNew,
      get connection() {
        return connection;
      },
      renew: async () => {
        this.#lent.delete(connection);
        connection.close();
        connection = await this.#openFor();
        this.#lent.add(connection);
      },
      release: (then = 'keep') => {
        if (released) return;
        released = true;
        this.#lent.delete(connection);
        if (then === 'keep') this.#keep(connection);
        else quietLogOut(connection);
        this.#freeSlot(lane);
      },
    };
  }

  async #openFor(): Promise<ImapConnection> {
    const connection = await this.#options.open();
    if (!this.#ended) return connection;
    quietLogOut(connection);
    throw unavailable('disconnected', 'The connections of this mailbox were ended; try again.');
  }

  #takeIdle(): ImapConnection | null {
    for (;;) {
      const idle = this.#idle.pop();
      if (idle === undefined) return null;
      clearTimeout(idle.timer);
      if (idle.connection.isUsable && !this.#isOld(idle.connection)) {
        idle.connection.hasAnswered = false;
        return idle.connection;
      }
      quietLogOut(idle.connection);
    }
  }

  #keep(connection: ImapConnection): void {
    if (!connection.isUsable) {
      connection.close();
    } else if (this.#ended || this.#isOld(connection)) {
      quietLogOut(connection);
    } else {
      const timer = setTimeout(() => {
        const at = this.#idle.findIndex((idle) => idle.connection === connection);
        if (at >= 0) this.#idle.splice(at, 1);
        quietLogOut(connection);
      }, this.#options.idleMs);
      timer.unref();
      this.#idle.push({ connection, timer });
    }
  }

  #isOld(connection: ImapConnection): boolean {
    return this.#options.now() - connection.openedAt > this.#options.maxAgeMs;
  }

  /** True when the kept ones leave room for another, the slot for it counted already. */
  #mayOpen(): boolean {
    const { interactive, bulk } = this.#inUse;
    return interactive + bulk + this.#idle.length <= this.#options.limit;
  }

  /** One slot is out of reach of bulk work, unless there is only one. */
  #hasRoom(lane: Lane): boolean {
    const { limit } = this.#options;
    const { interactive, bulk } = this.#inUse;
    if (interactive + bulk >= limit) return false;
    return lane === 'interactive' || limit === 1 || bulk < limit - 1;
  }

  async #takeSlot(lane: Lane): Promise<void> {
    if (this.#ended)
      throw unavailable('disconnected', 'The connections of this mailbox were ended; try again.');
    if (this.#hasRoom(lane)) {
      this.#inUse[lane] += 1;
      return;
    }
    if (this.#waiters.length >= MAX_WAITERS) throw tooBusy();
    await new Promise<void>((resolve, reject) => {
      const waiter: Waiter = {
        lane,
        go: () => {
          clearTimeout(timer);
          this.#inUse[lane] += 1;
          resolve();
        },
        fail: (error) => {
          clearTimeout(timer);
          reject(error);
        },
      };
      const timer = setTimeout(() => {
        this.#waiters = this.#waiters.filter((other) => other !== waiter);
        reject(tooBusy());
      }, this.#options.waitMs);
      this.#waiters.push(waiter);
    });
  }

  #freeSlot(lane: Lane): void {
    this.#inUse[lane] -= 1;
    for (const next of ['interactive', 'bulk'] as const) {
      const at = this.#hasRoom(next) ? this.#waiters.findIndex((waiter) => waiter.lane === next) : -1;
      const [waiter] = at < 0 ? [] : this.#waiters.splice(at, 1);
      if (waiter) {
        waiter.go();
        return;
      }
    }
  }
}

/** An idle connection's goodbye: whether it arrives does not matter to anybody. */
function quietLogOut(connection: ImapConnection): void {
  connection.logOut().catch(() => {
    connection.close();
  });
}

const tooBusy = (): GatewayError =>
  new GatewayError('overloaded', 'All connections of this mailbox are busy; try again in a moment.', {
    retryAfterSeconds: 2,
  });
