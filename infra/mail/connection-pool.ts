/**
 * The connections of one mailbox: few, kept for the next caller, one for the mailbox's watch. Where the provider allows a single
 * one, the watch lends it out.
 */
import type { Lane } from '../../commands/kernel/mail-port.ts';
import { ConnectionSlots, disconnected, type Holder, type SlotOptions } from './connection-slots.ts';
import type { ImapConnection } from './imap-connection.ts';

export interface PoolOptions extends SlotOptions {
  readonly open: () => Promise<ImapConnection>;
  readonly idleMs: number;
  readonly maxAgeMs: number;
  readonly now: () => number;
}

/** A connection lent for one operation or query. */
export interface Lease {
  readonly connection: ImapConnection;
  /** It was opened for this lease. */
  readonly isNew: boolean;
  /** Somebody waits for a connection. */
  readonly isWanted: boolean;
  /** Ends the connection and opens another in its place. Throws as opening does. */
  renew(): Promise<void>;
  /** `end` when the next caller is not expected soon. */
  release(then?: 'keep' | 'end'): void;
}

/** The connection a mailbox is watched on. */
export interface WatchLease {
  readonly connection: ImapConnection;
  /** True while somebody waits whom only this connection can serve. */
  readonly isWanted: boolean;
  /** Lends the connection to all who wait and takes it back after them; it may be another one then. Throws as opening does. */
  giveWay(): Promise<void>;
  /** Ends the connection. */
  release(): void;
}

export interface WatchLeaseOptions {
  readonly onWanted: () => void;
  /** Ends the wait for the connection. */
  readonly signal: AbortSignal;
}

interface Idle {
  readonly connection: ImapConnection;
  readonly timer: NodeJS.Timeout;
}

/** Callers take and give back at the newest end. */
type IdleEnd = 'newest' | 'oldest';

export class ConnectionPool {
  readonly #options: PoolOptions;
  readonly #slots: ConnectionSlots;
  readonly #idle: Idle[] = [];
  /** What the server counts: a connection until its goodbye is over. */
  readonly #counted = new Set<ImapConnection>();
  readonly #goodbyes = new Set<Promise<void>>();
  /** While the watch holds it. */
  #watched: ImapConnection | null = null;
  #ended = false;

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#slots = new ConnectionSlots(options);
  }

  /**
   * A kept connection where there is one; for `new` only when no other may be opened beside it, and then the one callers used
   * longest ago. Throws `overloaded` when nothing gets free in time, and what opening a connection throws.
   */
  async acquire(lane: Lane, prefer: 'kept' | 'new' = 'kept'): Promise<Lease> {
    await this.#slots.take(lane);
    return await this.#orFree(lane, async () => {
      const mayOpen = this.#slots.callers + this.#idle.length <= this.#slots.mostCallers;
      // What callers used last stays as they left it, and is the next they get.
      const end = prefer === 'new' ? 'oldest' : 'newest';
      const kept = prefer === 'new' && mayOpen ? null : this.#takeIdle(end);
      return this.#lease(lane, kept ?? (await this.#openFor()), { isNew: kept === null, end });
    });
  }

  /** Opens the connection to watch on; it waits for callers only where there is a single one. Throws as opening does. */
  async watch({ onWanted, signal }: WatchLeaseOptions): Promise<WatchLease> {
    const slots = this.#slots;
    slots.onWatchWanted = onWanted;
    await slots.take('watch', signal);
    let connection = await this.#orFree('watch', () => this.#openFor());
    this.#watched = connection;
    let isHeld = true;
    return {
      get connection() {
        return connection;
      },
      get isWanted() {
        return slots.isWatchWanted;
      },
      giveWay: async () => {
        isHeld = false;
        this.#watched = null;
        this.#keep(connection);
        slots.free('watch');
        await slots.take('watch', signal);
        const open = async (): Promise<ImapConnection> => this.#takeIdle() ?? (await this.#openFor());
        connection = await this.#orFree('watch', open);
        this.#watched = connection;
        isHeld = true;
      },
      release: () => {
        if (!isHeld) return;
        isHeld = false;
        this.#watched = null;
        this.#dismiss(connection);
        slots.free('watch');
      },
    };
  }

  /**
   * Lends nothing more: idle connections and that of the watch end now, lent ones when they come back (`now`: at once), and
   * who waits is told to try again.
   */
  end(now = false): void {
    this.#ended = true;
    for (const { connection, timer } of this.#idle.splice(0)) {
      clearTimeout(timer);
      if (now) connection.close();
      else this.#dismiss(connection);
    }
    if (now) for (const connection of this.#counted) connection.close();
    // It never comes back by itself: it would go on telling what a login sees that is none any more.
    else if (this.#watched) this.#dismiss(this.#watched);
    this.#slots.end();
  }

  #lease(lane: Lane, first: ImapConnection, { isNew, end }: { isNew: boolean; end: IdleEnd }): Lease {
    const slots = this.#slots;
    let connection = first;
    let released = false;
    return {
      isNew,
      get connection() {
        return connection;
      },
      get isWanted() {
        return slots.isWanted;
      },
      renew: async () => {
        this.#drop(connection);
        connection = await this.#openFor();
      },
      release: (then = 'keep') => {
        if (released) return;
        released = true;
        if (then === 'end' && !slots.isWanted) this.#dismiss(connection);
        else this.#keep(connection, end);
        slots.free(lane);
      },
    };
  }

  async #orFree<T>(holder: Holder, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      this.#slots.free(holder);
      throw error;
    }
  }

  /** What is kept, or on its way out, makes room first where the server would count one too many. */
  async #openFor(): Promise<ImapConnection> {
    if (this.#counted.size >= this.#options.limit) {
      for (const { connection, timer } of this.#idle.splice(0)) {
        clearTimeout(timer);
        this.#dismiss(connection);
      }
      await Promise.all(this.#goodbyes);
    }
    const connection = await this.#options.open();
    this.#counted.add(connection);
    if (!this.#ended) return connection;
    this.#dismiss(connection);
    throw disconnected();
  }

  #takeIdle(end: IdleEnd = 'newest'): ImapConnection | null {
    for (;;) {
      const idle = end === 'newest' ? this.#idle.pop() : this.#idle.shift();
      if (idle === undefined) return null;
      clearTimeout(idle.timer);
      if (idle.connection.isUsable && !this.#isOld(idle.connection)) {
        idle.connection.hasAnswered = false;
        return idle.connection;
      }
      this.#dismiss(idle.connection);
    }
  }

  #keep(connection: ImapConnection, end: IdleEnd = 'newest'): void {
    if (!connection.isUsable) {
      this.#drop(connection);
    } else if (this.#ended || this.#isOld(connection)) {
      this.#dismiss(connection);
    } else {
      const timer = setTimeout(() => {
        const at = this.#idle.findIndex((idle) => idle.connection === connection);
        if (at >= 0) this.#idle.splice(at, 1);
        this.#dismiss(connection);
      }, this.#options.idleMs);
      timer.unref();
      if (end === 'newest') this.#idle.push({ connection, timer });
      else this.#idle.unshift({ connection, timer });
    }
  }

  #isOld(connection: ImapConnection): boolean {
    return this.#options.now() - connection.openedAt > this.#options.maxAgeMs;
  }

  /** A goodbye; whether it arrives does not matter to anybody. */
  #dismiss(connection: ImapConnection): void {
    const goodbye = connection
      .logOut()
      .catch(() => undefined)
      .then(() => {
        this.#goodbyes.delete(goodbye);
        this.#drop(connection);
      });
    this.#goodbyes.add(goodbye);
  }

  #drop(connection: ImapConnection): void {
    this.#counted.delete(connection);
    connection.close();
  }
}
