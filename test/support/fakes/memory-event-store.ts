/** The `EventStore` port in memory: exact revisions, repeats detected by event ids, `$all` in order. */
import { GatewayError } from '../../../commands/values/errors.ts';
import {
  type Appended,
  type EventFilter,
  type EventStore,
  type ExpectedRevision,
  type SubscriptionItem,
  WrongExpectedRevision,
} from '../../../commands/ports/event-store.ts';
import type { NewEvent, StoredEvent } from '../../../commands/values/event.ts';
import type { Position } from '../../../commands/values/position.ts';

/** Positions are byte offsets in a real log: growing, with gaps. */
const POSITION_STEP = 64n;

export class MemoryEventStore implements EventStore {
  /** While true, every append and read fails with `store_unavailable`; subscriptions stay silent. */
  away = false;
  /** Stores the next append but fails it, as a connection does that breaks before the answer. */
  loseNextAnswer = false;
  /** Every attempted append, including refused ones. */
  readonly attempts: { readonly streamName: string; readonly events: readonly NewEvent[] }[] = [];
  readonly #all: StoredEvent[] = [];
  readonly #streams = new Map<string, StoredEvent[]>();
  readonly #now: () => Date;
  #changed = Promise.withResolvers<undefined>();

  constructor(now: () => Date = () => new Date()) {
    this.#now = now;
  }

  /** Every event so far, in order. */
  get all(): readonly StoredEvent[] {
    return this.#all;
  }

  async append(
    streamName: string,
    expected: ExpectedRevision,
    events: readonly NewEvent[],
  ): Promise<Appended> {
    await this.#turn();
    this.attempts.push({ streamName, events });
    this.#refuseWhenAway();
    const appended = this.#append(streamName, expected, events);
    if (!this.loseNextAnswer) return appended;
    this.loseNextAnswer = false;
    throw unavailable();
  }

  async readStream(streamName: string, from = 0n): Promise<readonly StoredEvent[]> {
    await this.#turn();
    this.#refuseWhenAway();
    return (this.#streams.get(streamName) ?? []).slice(Number(from));
  }

  async readLast(streamName: string): Promise<StoredEvent | null> {
    return (await this.readStream(streamName)).at(-1) ?? null;
  }

  async headPosition(): Promise<Position> {
    await this.#turn();
    this.#refuseWhenAway();
    return this.#all.at(-1)?.position ?? -1n;
  }

  async readAll(after: Position | null, most: number): Promise<readonly StoredEvent[]> {
    await this.#turn();
    this.#refuseWhenAway();
    return this.#all.filter(({ position }) => after === null || position > after).slice(0, most);
  }

  async *subscribeToAll(
    from: Position | null,
    signal: AbortSignal,
    filter?: EventFilter,
  ): AsyncGenerator<SubscriptionItem, void, undefined> {
    let next = this.#all.findIndex(({ position }) => from === null || position > from);
    if (next < 0) next = this.#all.length;
    let caughtUp = false;
    const aborted = new Promise<void>((resolve) => {
      signal.addEventListener('abort', () => {
        resolve();
      });
    });
    while (!signal.aborted) {
      const event = this.away ? undefined : this.#all[next];
      if (event) {
        next += 1;
        if (matches(event, filter)) yield { kind: 'event', event };
      } else if (!caughtUp && !this.away) {
        caughtUp = true;
        yield { kind: 'caught-up' };
      } else {
        await Promise.race([this.#changed.promise, aborted]);
      }
    }
  }

  /** Wakes subscriptions after `away` was reset. */
  comeBack(): void {
    this.away = false;
    this.#wake();
  }

  #append(streamName: string, expected: ExpectedRevision, events: readonly NewEvent[]): Appended {
    const stream = this.#streams.get(streamName) ?? [];
    const last = stream.at(-1);
    const actual = last?.revision ?? 'no-stream';
    if (actual !== expected) return this.#repeatOf(streamName, expected, events);
    for (const event of events) {
      const position = (this.#all.at(-1)?.position ?? 0n) + POSITION_STEP;
      const copy = JSON.parse(JSON.stringify(event)) as NewEvent;
      const stored = {
        ...copy,
        streamName,
        revision: BigInt(stream.length),
        position,
        storedAt: this.#now(),
      };
      stream.push(stored);
      this.#all.push(stored);
    }
    this.#streams.set(streamName, stream);
    this.#wake();
    return appendedBy(stream.at(-1), streamName);
  }

  /** The same ids were appended in the same place before: a success again, whatever their content. */
  #repeatOf(streamName: string, expected: ExpectedRevision, events: readonly NewEvent[]): Appended {
    const stream = this.#streams.get(streamName) ?? [];
    const start = expected === 'no-stream' ? 0 : Number(expected) + 1;
    const there = stream.slice(start, start + events.length);
    if (there.length === events.length && there.every(({ id }, index) => id === events[index]?.id)) {
      return appendedBy(there.at(-1), streamName);
    }
    throw new WrongExpectedRevision(streamName, stream.at(-1)?.revision ?? 'no-stream');
  }

  #wake(): void {
    this.#changed.resolve(undefined);
    this.#changed = Promise.withResolvers();
  }

  /** No answer arrives within the caller's own turn. */
  #turn(): Promise<void> {
    return new Promise((resolve) => {
      setImmediate(resolve);
    });
  }

  #refuseWhenAway(): void {
    if (this.away) throw unavailable();
  }
}

const matches = ({ streamName }: StoredEvent, filter: EventFilter | undefined): boolean =>
  !filter || filter.streamPrefixes.some((prefix) => streamName.startsWith(prefix));

const unavailable = (): GatewayError =>
  new GatewayError('store_unavailable', 'The event store does not answer; try again.');

function appendedBy(event: StoredEvent | undefined, streamName: string): Appended {
  if (!event) throw new RangeError(`nothing to append to ${streamName}`);
  return { revision: event.revision, position: event.position };
}
