/** Writers and followers through the gateway's own wrapper, and the check of what became of every event. */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import type { EventStore, ExpectedRevision } from '../../../../commands/ports/event-store.ts';
import type { NewEvent, StoredEvent } from '../../../../commands/values/event.ts';

export const freshStream = (): string => `load-${randomUUID()}`;

/** An event the node acknowledged. */
interface Acknowledged {
  readonly stream: string;
  readonly revision: bigint;
  readonly id: string;
}

export interface Load {
  /** Everything acknowledged so far. */
  readonly acknowledged: readonly Acknowledged[];
  /** How often a writer was told that the store was away. */
  readonly refusals: number;
  /** Lets every writer finish what it is at, and no more. */
  stop(): Promise<void>;
}

const isUnavailable = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'store_unavailable';

/**
 * Writers that append to a stream of their own one event after the other, each exactly behind the last. Told that the
 * store is away they send the identical append again: the outcome of the first is unknown.
 */
export function startLoad(store: EventStore, writers: number): Load {
  const acknowledged: Acknowledged[] = [];
  let refusals = 0;
  const stopping = new AbortController();
  const settle = async (stream: string, expected: ExpectedRevision, event: NewEvent): Promise<bigint> => {
    for (;;) {
      try {
        return (await store.append(stream, expected, [event])).revision;
      } catch (error) {
        if (!isUnavailable(error)) throw error;
        refusals += 1;
        await delay(20);
      }
    }
  };
  const write = async (): Promise<void> => {
    const stream = freshStream();
    let expected: ExpectedRevision = 'no-stream';
    while (!stopping.signal.aborted) {
      const event = { id: randomUUID(), type: 'LoadHappened', data: { stream }, metadata: {} };
      expected = await settle(stream, expected, event);
      acknowledged.push({ stream, revision: expected, id: event.id });
    }
  };
  const working = Promise.all(Array.from({ length: writers }, write));
  // Looked at in `stop`; until then an error must not end the process.
  working.catch(() => undefined);
  return {
    acknowledged,
    get refusals() {
      return refusals;
    },
    stop: async () => {
      stopping.abort();
      await working;
    },
  };
}

/** A follower of `$all` that writes down what it sees. */
export class Follower {
  readonly seen: StoredEvent[] = [];
  readonly #end = new AbortController();
  readonly #following: Promise<void>;

  constructor(store: EventStore) {
    this.#following = this.#follow(store);
    this.#following.catch(() => undefined);
  }

  async #follow(store: EventStore): Promise<void> {
    for await (const item of store.subscribeToAll(null, this.#end.signal)) {
      if (item.kind === 'event') this.seen.push(item.event);
    }
  }

  /** Waits until it has seen so many events, then ends it. */
  async until(count: number, timeoutMs = 20_000): Promise<void> {
    const giveUpAt = performance.now() + timeoutMs;
    while (this.seen.length < count && performance.now() < giveUpAt) await delay(20);
    this.#end.abort();
    await this.#following;
  }
}

/** 0 acknowledged lost, 0 doubled, and `$all` for every follower whole and in order. */
export async function expectWhole(
  store: EventStore,
  load: Load,
  followers: readonly Follower[],
): Promise<void> {
  const all = await store.readAll(null, 1_000_000);
  const places = new Map(all.map((event) => [event.id, `${event.streamName}@${String(event.revision)}`]));
  expect(places.size, 'an id twice').to.equal(all.length);
  const lost = load.acknowledged.filter(
    ({ id, stream, revision }) => places.get(id) !== `${stream}@${String(revision)}`,
  );
  expect(lost).to.deep.equal([]);
  expect(all.length).to.equal(load.acknowledged.length);
  const order = all.map(({ position }) => position);
  expect(order).to.deep.equal(order.toSorted((a, b) => (a < b ? -1 : 1)));
  for (const { seen } of followers) {
    expect(seen.map(({ id }) => id)).to.deep.equal(all.map(({ id }) => id));
  }
}
