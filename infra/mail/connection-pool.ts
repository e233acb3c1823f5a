/**
 * The connections of one mailbox: a few, reused by callers, and one for the mailbox's watch. Where the provider allows only
 * one, the watch lends it.
 */
import type { GatewayError } from '../../commands/values/errors.ts';
import type { Priority } from '../../commands/ports/mail-port.ts';
import { ConnectionSlots, disconnected, type Holder, type SlotOptions } from './connection-slots.ts';
import { IdleConnections, type User } from './idle-connections.ts';
import type { ImapConnection } from './imap-connection.ts';
import { isHeldBack } from './mail-errors.ts';

export interface PoolOptions extends SlotOptions {
  /** Throws an error that `isHeldBack` where the server allows no more connections. */
  readonly open: () => Promise<ImapConnection>;
  /** The server accepts no login, and no connection is open to wait for. Must not throw. */
  readonly onHeldBack: (error: GatewayError) => void;
  readonly idleMs: number;
  readonly maxAgeMs: number;
  readonly now: () => number;
}

/** A connection lent for one operation or query. */
export interface Lease {
  readonly connection: ImapConnection;
  /** A caller waits for a connection. */
  readonly isWanted: boolean;
  /** Closes the connection and opens another in its place. Throws as opening does. */
  renew(): Promise<void>;
  /** `end` when it is not needed soon: callers get back what was theirs. */
  release(then?: 'keep' | 'end'): void;
}

/** The connection a mailbox is watched on. */
export interface WatchLease {
  readonly connection: ImapConnection;
  /** True while a caller waits that only this connection can serve. */
  readonly isWanted: boolean;
  /**
   * Lends the connection to all waiting callers and takes it back after them; it may be another one then. Throws as opening
   * does.
   */
  giveWay(): Promise<void>;
  /** Closes the connection. */
  release(): void;
}

export interface WatchLeaseOptions {
  readonly onWanted: () => void;
  /** Ends the wait for the connection. */
  readonly signal: AbortSignal;
}

/** Bounds the attempts on a server that allows fewer connections each time. */
const MOST_TRIES = 5;

export class ConnectionPool {
  readonly #options: PoolOptions;
  readonly #slots: ConnectionSlots;
  readonly #idle: IdleConnections;
  /** As the server counts: a connection counts until its logout has ended. */
  readonly #counted = new Set<ImapConnection>();
  readonly #goodbyes = new Set<Promise<void>>();
  readonly #openings = new Set<Promise<ImapConnection>>();
  /** While the watch holds it. */
  #watched: ImapConnection | null = null;
  #ended = false;

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#slots = new ConnectionSlots(options);
    this.#idle = new IdleConnections({
      ...options,
      dismiss: (connection) => {
        this.#dismiss(connection);
      },
    });
  }

  /** Connections to the server, each until its logout has ended. */
  get size(): number {
    return this.#counted.size;
  }

  /**
   * An idle connection where there is one. The worker takes one that callers need soon only when no other may be opened, and
   * then the one that was used longest ago. Throws `overloaded` when none becomes free in time, and what opening a
   * connection throws.
   */
  async acquire(lane: Priority, user: User = 'callers'): Promise<Lease> {
    const until = performance.now() + this.#options.waitMs;
    return await this.#whereAllowed(async () => {
      await this.#slots.take(lane, undefined, Math.max(0, until - performance.now()));
      return await this.#orFree(lane, () => this.#borrow(lane, user));
    });
  }

  async #borrow(lane: Priority, user: User): Promise<Lease> {
    if (user === 'callers') {
      const idle = this.#idle.takeForCallers();
      return this.#lease(lane, idle ?? (await this.#openFor()), { user, usedBy: user });
    }
    const spare = this.#idle.takeForWorker();
    if (spare) return this.#lease(lane, spare.connection, { user: spare.user, usedBy: user });
    const mayOpen = this.#slots.callers + this.#idle.size <= this.#slots.mostCallers;
    const lent = mayOpen ? null : this.#idle.takeOldest();
    return this.#lease(lane, lent ?? (await this.#openFor()), {
      user: lent ? 'callers' : 'worker',
      usedBy: user,
    });
  }

  /** Retries as often as the server allows fewer connections than assumed: the caller then waits for one of those. */
  async #whereAllowed<T>(attempt: () => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await attempt();
      } catch (error) {
        if (!isHeldBack(error) || this.#counted.size === 0 || tries >= MOST_TRIES) throw error;
      }
    }
  }

  /** Opens the connection for the watch; it waits for callers only where a single one is allowed. Throws as opening does. */
  async watch({ onWanted, signal }: WatchLeaseOptions): Promise<WatchLease> {
    const slots = this.#slots;
    slots.onWatchWanted = onWanted;
    const take = (open: () => Promise<ImapConnection>): Promise<ImapConnection> =>
      this.#whereAllowed(async () => {
        await slots.take('watch', signal);
        return await this.#orFree('watch', open);
      });
    let connection = await take(() => this.#openFor());
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
        connection = await take(async () => this.#idle.takeForCallers() ?? (await this.#openFor()));
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
   * Lends nothing more: idle connections and that of the watch end now, lent ones when they are returned (`now`: at once),
   * and waiting callers get an error to try again.
   */
  end(now = false): void {
    this.#ended = true;
    for (const connection of this.#idle.clear()) {
      if (now) connection.close();
      else this.#dismiss(connection);
    }
    if (now) for (const connection of this.#counted) connection.close();
    // It is never returned on its own: it would keep reporting what a revoked login sees.
    else if (this.#watched) this.#dismiss(this.#watched);
    this.#slots.end();
  }

  /** Each connection opens its folder again before it is next used: some servers (Dovecot) keep a removed folder open as it was. */
  doubtFolders(): void {
    for (const connection of this.#counted) connection.doubtFolder();
  }

  #lease(lane: Priority, first: ImapConnection, { user, usedBy }: Record<'user' | 'usedBy', User>): Lease {
    const slots = this.#slots;
    let connection = first;
    let released = false;
    return {
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
        if (then === 'end' && user === 'worker' && !slots.isWanted) this.#dismiss(connection);
        else this.#keep(connection, user, usedBy);
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

  /** Idle and closing connections make room first where the server would count one too many. */
  async #openFor(): Promise<ImapConnection> {
    if (this.#counted.size >= this.#slots.limit) {
      for (const connection of this.#idle.clear()) this.#dismiss(connection);
      await Promise.all(this.#goodbyes);
    }
    const connection = await this.#opened();
    if (!this.#ended) return connection;
    this.#dismiss(connection);
    throw disconnected();
  }

  /** Throws as opening does, after recording what the server allows. */
  async #opened(): Promise<ImapConnection> {
    const opening = this.#options.open();
    this.#openings.add(opening);
    try {
      const connection = await opening;
      this.#counted.add(connection);
      return connection;
    } catch (error) {
      this.#openings.delete(opening);
      if (isHeldBack(error)) await this.#learnFrom(error);
      throw error;
    } finally {
      this.#openings.delete(opening);
    }
  }

  /** A connection being opened at the same time may be the one the server accepted. */
  async #learnFrom(refusal: GatewayError): Promise<void> {
    await Promise.allSettled(this.#openings);
    if (this.#counted.size === 0) this.#options.onHeldBack(refusal);
    else this.#slots.learn(this.#counted.size);
  }

  #keep(connection: ImapConnection, user: User = 'callers', usedBy = user): void {
    if (!connection.isUsable) this.#drop(connection);
    else if (this.#ended || this.#idle.isOld(connection)) this.#dismiss(connection);
    else this.#idle.keep(connection, user, usedBy);
  }

  /** A logout; whether it arrives does not matter. */
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
