import { expect } from 'chai';
import type { EventFilter, SubscriptionItem } from '../../../../commands/ports/event-store.ts';
import type { NewEvent, StoredEvent } from '../../../../commands/values/event.ts';
import type { Position } from '../../../../commands/values/position.ts';
import { AllStream } from '../../../../infra/event-store/all-stream.ts';
import { CheckpointNotInLog } from '../../../../infra/event-store/follow-all.ts';
import { MemoryEventStore } from '../../../support/fakes/memory-event-store.ts';
import { silentLog } from '../../../support/fakes/silent-log.ts';
import { eventually } from '../../../support/suite/eventually.ts';
import { rejection } from '../../../support/suite/rejection.ts';

const events = (first: number, count: number): NewEvent[] =>
  Array.from({ length: count }, (_unused, n) => ({
    id: String(first + n),
    type: 'Happened',
    data: { n: first + n },
    metadata: {},
  }));

const range = (first: number, count: number): number[] =>
  events(first, count).map(({ data }) => Number(data['n']));

describe('AllStream', () => {
  let store: MemoryEventStore;
  let all: AllStream;
  let end: AbortController;
  /** Where each subscription began, and how many of them are open. */
  let begun: (Position | null)[];
  let open: number;
  let reads: number;
  /** Its rejection makes the open subscription fail. */
  let failure: PromiseWithResolvers<never>;
  /** What a subscription waits for before its first item. */
  let gate: Promise<unknown>;
  let beforeRead: () => Promise<void>;

  async function* subscribe(
    from: Position | null,
    signal: AbortSignal,
  ): AsyncGenerator<SubscriptionItem, void> {
    begun.push(from);
    open += 1;
    const failing = failure.promise;
    failing.catch(() => undefined);
    try {
      await gate;
      const items = store.subscribeToAll(from, signal)[Symbol.asyncIterator]();
      for (;;) {
        const next = await Promise.race([items.next(), failing]);
        if (next.done === true) return;
        yield next.value;
      }
    } finally {
      open -= 1;
    }
  }

  const readAll = async (after: Position | null, most: number): Promise<readonly StoredEvent[]> => {
    reads += 1;
    await beforeRead();
    return store.readAll(after, most);
  };

  beforeEach(() => {
    store = new MemoryEventStore();
    all = new AllStream({ subscribe, readAll, log: silentLog });
    end = new AbortController();
    [begun, open, reads] = [[], 0, 0];
    failure = Promise.withResolvers();
    gate = Promise.resolve();
    beforeRead = () => Promise.resolve();
  });

  afterEach(() => {
    end.abort();
  });

  /** What one follower has received: the numbers of its events, and the kind of every other item. */
  class Seen {
    readonly items: (number | string)[] = [];
    readonly done: Promise<void>;
    /** While set, the follower is busy with its last item. */
    busy: Promise<void> = Promise.resolve();
    last: Position | null;
    readonly #ending = new AbortController();

    constructor(from: Position | null = null, filter?: EventFilter) {
      this.last = from;
      this.done = this.#follow(from, filter);
      this.done.catch(() => undefined);
    }

    get numbers(): number[] {
      return this.items.filter((item) => typeof item === 'number');
    }

    leave(): Promise<void> {
      this.#ending.abort();
      return this.done;
    }

    async #follow(from: Position | null, filter: EventFilter | undefined): Promise<void> {
      const signal = AbortSignal.any([end.signal, this.#ending.signal]);
      for await (const item of all.follow(from, signal, filter)) {
        this.items.push(item.kind === 'event' ? Number(item.event.data['n']) : item.kind);
        if (item.kind === 'event') this.last = item.event.position;
        await this.busy;
      }
    }
  }

  const append = async (first: number, count: number, stream = `a-${String(first)}`): Promise<void> => {
    await store.append(stream, 'no-stream', events(first, count));
  };

  const caughtUp = (...followers: Seen[]): Promise<void> =>
    eventually(() => followers.every(({ items }) => items.includes('caught-up')));

  it('holds one subscription for all followers, and ends it with the last', async () => {
    await append(0, 3);
    const followers = [new Seen(), new Seen(), new Seen(store.all[1]?.position)];
    await caughtUp(...followers);
    await append(3, 2);
    await eventually(() => followers.every(({ numbers }) => numbers.includes(4)));
    expect(followers.map(({ items }) => items)).to.deep.equal([
      [0, 1, 2, 'caught-up', 3, 4],
      [0, 1, 2, 'caught-up', 3, 4],
      [2, 'caught-up', 3, 4],
    ]);
    expect([begun.length, open]).to.deep.equal([1, 1]);
    await Promise.all(followers.slice(0, 2).map((follower) => follower.leave()));
    expect(open).to.equal(1);
    await followers[2]?.leave();
    await eventually(() => open === 0);
    const later = new Seen(store.all[3]?.position);
    await caughtUp(later);
    expect(later.items).to.deep.equal([4, 'caught-up']);
    expect(begun).to.deep.equal([null, store.all[3]?.position]);
  });

  it('passes to a follower only its streams, and a checkpoint after many other events', async () => {
    const first = new Seen();
    const filtered = new Seen(null, { streamPrefixes: ['b-'] });
    await caughtUp(first, filtered);
    for (let n = 0; n < 11; n += 1) await append(100 * n, 100);
    await append(1_100, 1, 'b-1');
    await eventually(() => filtered.numbers.length === 1);
    expect(filtered.items).to.deep.equal(['caught-up', 'checkpoint', 1_100]);
    await eventually(() => first.numbers.length === 1_101);
  });

  it('lets a slow follower read the log without delaying another or buffering everything', async () => {
    const fast = new Seen();
    const slow = new Seen();
    await caughtUp(fast, slow);
    const rest = Promise.withResolvers<undefined>();
    slow.busy = rest.promise;
    const readsBefore = reads;
    for (let n = 0; n < 30; n += 1) await append(100 * n, 100);
    await eventually(() => fast.numbers.length === 3_000);
    expect(slow.numbers.length).to.equal(1);
    expect(reads).to.equal(readsBefore);
    slow.busy = Promise.resolve();
    rest.resolve(undefined);
    await eventually(() => slow.numbers.length === 3_000);
    expect(slow.numbers).to.deep.equal(range(0, 3_000));
    // Three thousand events were read in pages of at most five hundred, so they were not kept in memory.
    expect(reads - readsBefore).to.be.within(4, 8);
    const readsAfter = reads;
    await append(3_000, 1);
    await eventually(() => slow.numbers.length === 3_001 && fast.numbers.length === 3_001);
    expect(reads, 'it takes from the subscription again').to.equal(readsAfter);
    expect(fast.numbers).to.deep.equal(range(0, 3_001));
    expect(begun).to.deep.equal([null]);
  });

  it('misses and repeats nothing for a follower that starts late, while events are appended', async () => {
    await append(0, 1_200);
    const first = new Seen(store.all.at(-1)?.position);
    await caughtUp(first);
    let appended = 1_200;
    beforeRead = async () => {
      await append(appended, 3);
      appended += 3;
    };
    const late = new Seen();
    await caughtUp(late);
    beforeRead = () => Promise.resolve();
    await append(appended, 1);
    appended += 1;
    await eventually(() => late.numbers.length === appended);
    expect(late.numbers).to.deep.equal(range(0, appended));
    expect(first.numbers).to.deep.equal(range(1_200, appended - 1_200));
    expect(begun).to.have.length(1);
  });

  it('reads again when a node answers with less than the subscription has received', async () => {
    await append(0, 2);
    const first = new Seen();
    await caughtUp(first);
    await append(2, 1);
    await eventually(() => first.numbers.length === 3);
    const current = store.readAll.bind(store);
    let stale = 2;
    store.readAll = async (after, most) => {
      stale -= 1;
      return (await current(after, most)).filter(({ data }) => stale < 0 || Number(data['n']) < 2);
    };
    const late = new Seen();
    await caughtUp(late);
    expect(late.items).to.deep.equal([0, 1, 2, 'caught-up']);
  });

  it('opens the subscription later in the log when a follower would wait for one far behind', async () => {
    await append(0, 5);
    const closed = Promise.withResolvers<undefined>();
    gate = closed.promise;
    const behind = new Seen();
    await eventually(() => open === 1);
    gate = Promise.resolve();
    const ahead = new Seen(store.all[3]?.position);
    await caughtUp(ahead);
    await append(5, 1);
    await eventually(() => ahead.numbers.includes(5));
    expect(ahead.numbers).to.deep.equal([4, 5]);
    await eventually(() => behind.numbers.includes(5));
    expect(behind.numbers).to.deep.equal(range(0, 6));
    expect(begun).to.deep.equal([null, store.all[4]?.position]);
    closed.resolve(undefined);
    await eventually(() => open === 1);
  });

  it('reports a failed subscription to each current follower, and each resumes at its own position', async () => {
    await append(0, 2);
    const followers = [new Seen(), new Seen()];
    await caughtUp(...followers);
    const lost = new Error('the log is another one');
    const { reject } = failure;
    failure = Promise.withResolvers();
    reject(lost);
    for (const { done } of followers) expect(await rejection(done)).to.equal(lost);
    await append(2, 2);
    const again = followers.map(({ last }) => new Seen(last));
    await caughtUp(...again);
    for (const { numbers } of again) expect(numbers).to.deep.equal([2, 3]);
    expect([begun.length, open]).to.deep.equal([2, 1]);
  });

  it('lets a follower that reads the log continue when the subscription fails', async () => {
    await append(0, 700);
    const first = new Seen(store.all.at(-1)?.position);
    await caughtUp(first);
    const read = Promise.withResolvers<undefined>();
    beforeRead = () => read.promise;
    const late = new Seen();
    await eventually(() => reads === 1);
    const { reject } = failure;
    failure = Promise.withResolvers();
    reject(new Error('lost'));
    expect(await rejection(first.done)).to.have.property('message', 'lost');
    const again = new Seen(first.last);
    read.resolve(undefined);
    await caughtUp(again);
    await append(700, 1);
    await eventually(() => again.numbers.includes(700));
    expect(await rejection(late.done)).to.have.property('message', 'lost');
    expect(late.numbers).to.deep.equal(range(0, 700));
  });

  it('is unaffected by a follower that throws', async () => {
    const other = new Seen();
    await caughtUp(other);
    const thrower = (async () => {
      for await (const item of all.follow(null, end.signal))
        if (item.kind === 'event') throw new Error('a defect');
    })();
    await append(0, 2);
    expect(await rejection(thrower)).to.have.property('message', 'a defect');
    await append(2, 1);
    await eventually(() => other.numbers.length === 3);
    expect([begun.length, open]).to.deep.equal([1, 1]);
  });

  it('retries the log when the store is unavailable, and reports a position it does not contain', async () => {
    await append(0, 2);
    const first = new Seen();
    await caughtUp(first);
    store.away = true;
    const late = new Seen();
    await eventually(() => reads > 2);
    store.comeBack();
    await caughtUp(late);
    expect(late.items).to.deep.equal([0, 1, 'caught-up']);
    beforeRead = () => Promise.reject(new CheckpointNotInLog(9n, 'is refused'));
    expect(await rejection(new Seen(9n).done)).to.be.instanceOf(CheckpointNotInLog);
  });

  it('ends a follower at once when its signal aborts, even when the store does not answer', async () => {
    const first = new Seen();
    await caughtUp(first);
    beforeRead = () => new Promise(() => undefined);
    const late = new Seen();
    await eventually(() => reads === 1);
    await late.leave();
    await first.leave();
    expect([late.items, first.items]).to.deep.equal([[], ['caught-up']]);
    await eventually(() => open === 0);
  });
});
