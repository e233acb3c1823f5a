/**
 * What this process knows of the log, to detect that it was replaced: emptied, or restored from an older
 * backup while gateways run. Events appended there would never appear in the audit, so nothing is appended.
 * The newest known event is enough: a log only grows, so a log that contains it also contains everything
 * before.
 */
import { GatewayError } from '../../commands/values/errors.ts';
import type { Log } from '../../commands/ports/ports.ts';
import type { StoredEvent } from '../../commands/values/event.ts';
import type { Position } from '../../commands/values/position.ts';
import { SingleFlight } from '../concurrency/single-flight.ts';
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

export class KnownLog {
  readonly #reader: Pick<StreamReader, 'eventAt' | 'endPosition'>;
  readonly #log: Log;
  /** The newest event this process has appended, received or started with. */
  #newest: KnownEvent | null = null;
  /** The newest position known to be in the log: a checkpoint may be behind the newest known event. */
  #end: Position = -1n;
  #difference: string | null = null;
  /** Subscriptions that receive only events they received before. */
  readonly #deaf = new Set<object>();
  readonly #confirmed = new WeakMap<StoreConnection, string>();
  readonly #comparisons = new SingleFlight<void>();

  constructor(reader: Pick<StreamReader, 'eventAt' | 'endPosition'>, log: Log) {
    this.#reader = reader;
    this.#log = log;
  }

  /** Why this store cannot be used, or null. */
  get trouble(): string | null {
    if (this.#difference !== null) return `the event store holds another log: ${this.#difference}`;
    return this.#deaf.size > 0 ? 'a subscription receives only events that it received before' : null;
  }

  /** Throws `LogReplaced` while the log is known to be another one. */
  refuseOther(): void {
    if (this.#difference !== null) throw new LogReplaced();
  }

  /** Remembers an event of the compared log. */
  hold({ id, position }: KnownEvent): void {
    if (position > (this.#newest?.position ?? -1n)) this.#newest = { id, position };
    this.reach(position);
  }

  /** Remembers an event whose append was acknowledged over this connection, after it was confirmed. */
  appended(connection: StoreConnection, event: KnownEvent): void {
    this.hold(event);
    this.#confirmed.set(connection, connection.epoch);
  }

  /** Remembers a position of the compared log. */
  reach(position: Position): void {
    if (position > this.#end) this.#end = position;
  }

  /** Remembers the end of the log at the first read: from now on it must be the same log. */
  begin(newest: StoredEvent | null): void {
    if (this.#newest === null && newest && !newest.type.startsWith('$')) this.hold(newest);
  }

  /** Marks a subscription that receives only old events, or removes the mark. */
  setDeaf(subscription: object, isDeaf: boolean): void {
    if (isDeaf) this.#deaf.add(subscription);
    else this.#deaf.delete(subscription);
  }

  /**
   * Resolves when the server behind this connection is known to hold the log: immediately unless it has
   * reconnected since. Throws `LogReplaced`, or `store_unavailable` when the comparison fails.
   */
  async confirm(connection: StoreConnection): Promise<void> {
    while (this.#newest !== null && this.#confirmed.get(connection) !== connection.epoch) {
      const { epoch } = connection;
      await this.#comparisons.join(epoch, () => this.compare());
      this.#confirmed.set(connection, epoch);
    }
  }

  /** Compares the log with the known event and end. Throws as `confirm` does. */
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
