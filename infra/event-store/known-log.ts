/**
 * What this process knows of the log, so that another log in its place is told apart: one that was emptied or restored from
 * an older backup while gateways run. Whatever were appended there no audit would ever know, so nothing is. The newest
 * event known tells: a log only grows, so a log that still holds it holds everything before it too.
 */
import { GatewayError } from '../../commands/values/errors.ts';
import type { Log } from '../../commands/ports/ports.ts';
import type { StoredEvent } from '../../commands/values/event.ts';
import type { Position } from '../../commands/values/position.ts';
import type { StoreConnection } from './store-connection.ts';
import type { StreamReader } from './stream-reader.ts';

/** The store holds another log than before, or an older state of it. */
export class LogReplaced extends GatewayError {
  constructor() {
    super(
      'store_unavailable',
      'The event store holds another log than this gateway has worked with; nothing is written until its operator has put that right.',
    );
    this.name = 'LogReplaced';
  }
}

type KnownEvent = Pick<StoredEvent, 'id' | 'position'>;

interface Comparison {
  readonly epoch: number;
  readonly done: Promise<void>;
}

export class KnownLog {
  readonly #reader: Pick<StreamReader, 'eventAt' | 'endPosition'>;
  readonly #log: Log;
  /** The newest event this process has appended, received or begun with. */
  #newest: KnownEvent | null = null;
  /** The newest position known to be in the log: a checkpoint may lie behind the newest event known. */
  #end: Position = -1n;
  #difference: string | null = null;
  /** Subscriptions that hear of nothing but what they had before. */
  readonly #deaf = new Set<object>();
  readonly #confirmed = new WeakMap<StoreConnection, number>();
  readonly #comparing = new WeakMap<StoreConnection, Comparison>();

  constructor(reader: Pick<StreamReader, 'eventAt' | 'endPosition'>, log: Log) {
    this.#reader = reader;
    this.#log = log;
  }

  /** What keeps this store from being used, or null. */
  get trouble(): string | null {
    if (this.#difference !== null) return `the event store holds another log: ${this.#difference}`;
    return this.#deaf.size > 0 ? 'a subscription receives only events that it received before' : null;
  }

  /** Throws `LogReplaced` while the log is known to be another one. */
  refuseOther(): void {
    if (this.#difference !== null) throw new LogReplaced();
  }

  /** An event of the log that was compared. */
  hold({ id, position }: KnownEvent): void {
    if (position > (this.#newest?.position ?? -1n)) this.#newest = { id, position };
    this.reach(position);
  }

  /** An event whose append was acknowledged over this connection, after it was confirmed. */
  appended(connection: StoreConnection, event: KnownEvent): void {
    this.hold(event);
    this.#confirmed.set(connection, connection.epoch);
  }

  /** A place of the log that was compared. */
  reach(position: Position): void {
    if (position > this.#end) this.#end = position;
  }

  /** The end of the log at the first read: from here on it has to be the same log. */
  begin(newest: StoredEvent | null): void {
    if (this.#newest === null && newest && !newest.type.startsWith('$')) this.hold(newest);
  }

  /** A subscription has become deaf, or hears again. */
  setDeaf(subscription: object, isDeaf: boolean): void {
    if (isDeaf) this.#deaf.add(subscription);
    else this.#deaf.delete(subscription);
  }

  /**
   * Resolves when the server behind this connection is known to hold the log: at once unless the connection was made anew
   * since. Throws `LogReplaced`, or `store_unavailable` when nobody can say.
   */
  async confirm(connection: StoreConnection): Promise<void> {
    while (this.#newest !== null && this.#confirmed.get(connection) !== connection.epoch) {
      const { epoch } = connection;
      const running = this.#comparing.get(connection);
      const comparison = running?.epoch === epoch ? running : this.#compareFor(connection, epoch);
      await comparison.done;
      this.#confirmed.set(connection, epoch);
    }
  }

  /** Compares the log with what is known of it. Throws as `confirm` does. */
  async compare(): Promise<void> {
    const difference = await this.#findDifference();
    if (difference !== null && this.#difference === null) {
      this.#log.error('event store: replaced or restored from an older backup, writes are refused', {
        difference,
        advice: 'Stop every gateway and restore event store and database of the same time.',
      });
    } else if (difference === null && this.#difference !== null) {
      this.#log.info('event store: known log is back');
    }
    this.#difference = difference;
    this.refuseOther();
  }

  #compareFor(connection: StoreConnection, epoch: number): Comparison {
    const done = this.compare().finally(() => {
      this.#comparing.delete(connection);
    });
    const comparison = { epoch, done };
    this.#comparing.set(connection, comparison);
    return comparison;
  }

  async #findDifference(): Promise<string | null> {
    const [newest, end] = [this.#newest, this.#end];
    if (newest === null) return null;
    const place = String(newest.position);
    const found = await this.#reader.eventAt(newest.position);
    if (found === null) return `event ${newest.id} is no longer at ${place}`;
    if (found.id !== newest.id) return `at ${place} is event ${found.id} instead of ${newest.id}`;
    if (end <= newest.position) return null;
    const last = await this.#reader.endPosition();
    return end > last ? `it ends at ${String(last)}, before ${String(end)}` : null;
  }
}
