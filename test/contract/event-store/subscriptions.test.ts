/** Subscriptions as the official client sees them. */
import { expect } from 'chai';
import { END, NO_STREAM, START, eventTypeFilter, streamNameFilter } from '@eventstore/db-client';
import type { AppendResult, JSONEventData, Position, SubscribeToAllOptions } from '@eventstore/db-client';
import { eventually } from '../../support/suite/eventually.ts';
import { describeStores, freshStream, happened, numbered } from './store-under-test.ts';
import { SubscriptionWatch } from './subscription-watch.ts';

describeStores('subscription', (store) => {
  const watches: SubscriptionWatch[] = [];

  const append = (
    stream: string,
    events: JSONEventData | JSONEventData[],
    expectedRevision: bigint | typeof NO_STREAM = NO_STREAM,
  ): Promise<AppendResult> =>
    store().client.appendToStream(stream, events, { ...store().appendOptions, expectedRevision });

  const here = async (): Promise<Position> => {
    const { position } = await append(freshStream('mark'), happened());
    return position ?? { commit: -1n, prepare: -1n };
  };

  const watchAll = (options: SubscribeToAllOptions): SubscriptionWatch => {
    const watch = new SubscriptionWatch(store().client.subscribeToAll(options));
    watches.push(watch);
    return watch;
  };

  const watchStream = (stream: string, fromRevision: bigint | typeof START | typeof END = START) => {
    const watch = new SubscriptionWatch(store().client.subscribeToStream(stream, { fromRevision }));
    watches.push(watch);
    return watch;
  };

  afterEach(async () => {
    await Promise.all(watches.splice(0).map((watch) => watch.end()));
  });

  it('confirms, delivers stored events after the position, reports that it caught up, then delivers live', async () => {
    const from = await here();
    const stream = freshStream();
    await append(stream, numbered(3));
    const watch = watchAll({ fromPosition: from });
    expect(await watch.until('caught-up')).to.deep.equal(['confirmed', 0, 1, 2, 'caught-up']);
    await append(stream, happened({ n: 3 }), 2n);
    await append(stream, happened({ n: 4 }), 3n);
    expect((await watch.until(7)).slice(5)).to.deep.equal([3, 4]);
  });

  it('delivers only new events when it starts from the end', async () => {
    const stream = freshStream();
    const watch = watchAll({ fromPosition: END });
    await watch.until('caught-up');
    await append(stream, happened({ n: 1 }));
    expect(await watch.until(3)).to.deep.equal(['confirmed', 'caught-up', 1]);
  });

  it('follows one stream after a revision and waits for a stream that does not exist yet', async () => {
    const stream = freshStream();
    const waiting = watchStream(stream);
    expect(await waiting.until('caught-up')).to.deep.equal(['confirmed', 'caught-up']);
    await append(stream, numbered(3));
    expect((await waiting.until(5)).slice(2)).to.deep.equal([0, 1, 2]);
    const later = watchStream(stream, 1n);
    expect(await later.until('caught-up')).to.deep.equal(['confirmed', 2, 'caught-up']);
    const live = watchStream(stream, END);
    await live.until('caught-up');
    await append(stream, happened({ n: 3 }), 2n);
    await Promise.all([waiting.until(6), later.until(4), live.until(3)]);
    expect(live.said).to.deep.equal(['confirmed', 'caught-up', 3]);
  });

  it('misses no event after its confirmation when it starts from the end of a stream', async () => {
    for (let round = 0; round < 12; round += 1) {
      const stream = freshStream();
      await append(stream, numbered(1));
      const watch = watchStream(stream, END);
      await watch.until('confirmed');
      await append(stream, happened({ n: 7 }), 0n);
      expect(await watch.until(3)).to.deep.equal(['confirmed', 'caught-up', 7]);
    }
  });

  it('filters by stream and by type, each by prefix and by expression', async () => {
    const from = await here();
    const [near, far] = [freshStream('nearby'), freshStream('faraway')];
    await append(near, [happened({ n: 1 }, 'OneKind'), happened({ n: 2 }, 'OtherKind')]);
    await append(far, [happened({ n: 3 }, 'OneKind'), happened({ n: 4 }, 'OtherKind')]);
    const seen = async (filter: SubscribeToAllOptions['filter']) => {
      const watch = watchAll({ fromPosition: from, ...(filter ? { filter } : {}) });
      return (await watch.until('caught-up')).filter((said) => typeof said === 'number');
    };
    expect(await seen(streamNameFilter({ prefixes: ['nearby-'] }))).to.deep.equal([1, 2]);
    expect(await seen(streamNameFilter({ prefixes: ['nearby-', 'faraway-'] }))).to.deep.equal([1, 2, 3, 4]);
    expect(await seen(streamNameFilter({ regex: '^far.*-' }))).to.deep.equal([3, 4]);
    expect(await seen(eventTypeFilter({ prefixes: ['One'] }))).to.deep.equal([1, 3]);
    expect(await seen(eventTypeFilter({ regex: '^Other' }))).to.deep.equal([2, 4]);
  });

  it('answers in time when the filter is an expensive expression', async () => {
    const watch = watchAll({ fromPosition: await here(), filter: eventTypeFilter({ regex: '^(a+)+$' }) });
    await watch.until('caught-up');
    const startedAt = performance.now();
    await append(freshStream(), happened({ n: 1 }, `${'a'.repeat(40)}!`));
    await append(freshStream(), happened({ n: 2 }, 'aaaa'));
    await watch.until(3);
    expect(watch.said.at(-1)).to.equal(2);
    expect(performance.now() - startedAt).to.be.below(10_000);
  });

  it('reports the position it has reached when the filter matches nothing', async () => {
    const from = await here();
    await append(freshStream(), numbered(40));
    const checkpoints: bigint[] = [];
    const watch = watchAll({
      fromPosition: from,
      filter: streamNameFilter({
        prefixes: ['nothing-'],
        maxSearchWindow: 8,
        checkpointReached: (_subscription, { commit }) => {
          checkpoints.push(commit);
        },
      }),
    });
    await watch.until('caught-up');
    expect(checkpoints).to.have.length.above(2);
    expect(checkpoints).to.deep.equal([...new Set(checkpoints)].sort((a, b) => (a < b ? -1 : 1)));
    const caughtUp = checkpoints.length;
    const last = await append(freshStream(), numbered(8));
    const mark = await append(freshStream('nothing'), happened({ n: 1 }));
    await watch.until(3);
    const live = checkpoints.slice(caughtUp);
    expect(live).to.have.length.above(0);
    for (const commit of live) expect(commit <= (mark.position?.commit ?? 0n)).to.equal(true);
    expect(Number(live[0])).to.be.at.most(Number(last.position?.commit));
  });

  it('returns checkpoints one search window late while it catches up', async () => {
    const from = await here();
    const { position: last } = await append(freshStream(), numbered(40));
    const places: bigint[] = [];
    for await (const { event } of store().client.readAll({ fromPosition: from })) {
      if (event) places.push(event.position.commit);
    }
    const reached = async (checkpointInterval: number): Promise<number[]> => {
      const checkpoints: bigint[] = [];
      const filter = streamNameFilter({
        prefixes: ['nothing-'],
        maxSearchWindow: 8,
        checkpointInterval,
        checkpointReached: (_subscription, { commit }) => {
          checkpoints.push(commit);
        },
      });
      await watchAll({ fromPosition: from, filter }).until('caught-up');
      return checkpoints
        .filter((commit) => commit <= (last?.commit ?? 0n))
        .map((commit) => places.indexOf(commit));
    };
    // Places counted from the event before the first one looked at; nothing has come in between.
    expect(await reached(1)).to.deep.equal([0, 8, 16, 24, 32]);
    expect(await reached(2)).to.deep.equal([8, 24]);
  });

  it('reports again that it caught up when it had fallen behind, and misses nothing', async () => {
    const from = await here();
    const stream = freshStream();
    const subscription = store().client.subscribeToAll({
      fromPosition: from,
      filter: streamNameFilter({ prefixes: [stream] }),
    });
    const watch = new SubscriptionWatch(subscription);
    watches.push(watch);
    await watch.until('caught-up');
    subscription.pause();
    const large = (n: number) => happened({ n, filler: 'x'.repeat(4_000) });
    await append(stream, large(0));
    for (let k = 0; k < 60; k += 1) {
      const events = Array.from({ length: 200 }, (_unused, n) => large(1 + 200 * k + n));
      await append(stream, events, BigInt(200 * k));
    }
    subscription.resume();
    const numbers = (): unknown[] => watch.said.filter((said) => typeof said === 'number');
    await eventually(() => numbers().length === 12_001, 90_000);
    expect(numbers()).to.deep.equal(Array.from({ length: 12_001 }, (_unused, n) => n));
    await eventually(() => watch.said.filter((said) => said === 'caught-up').length > 1);
  }).timeout(180_000);

  it('resumes from its checkpoint and misses nothing', async () => {
    const from = await here();
    await append(freshStream(), numbered(20));
    const checkpoints: Position[] = [];
    const filter = streamNameFilter({
      prefixes: ['resumed-'],
      maxSearchWindow: 5,
      checkpointReached: (_subscription, position) => {
        checkpoints.push(position);
      },
    });
    await watchAll({ fromPosition: from, filter }).until('caught-up');
    const resumeAt = checkpoints.findLast(({ commit }) => commit > 0n);
    await append(freshStream('resumed'), happened({ n: 7 }));
    const watch = watchAll({ fromPosition: resumeAt ?? START, filter });
    expect(await watch.until('caught-up')).to.deep.equal(['confirmed', 7, 'caught-up']);
  });

  it('ends when the position inside the log is no event', async () => {
    const { commit } = await here();
    await here();
    const watch = watchAll({ fromPosition: { commit: commit + 1n, prepare: commit + 1n } });
    const said = await watch.until(2);
    expect(said.some((what) => String(what).startsWith('error:'))).to.equal(true);
  });

  it('delivers nothing, not even new events, when the position is beyond the end', async () => {
    const { commit } = await here();
    const beyond = commit + 1_000_000_000n;
    const watch = watchAll({ fromPosition: { commit: beyond, prepare: beyond } });
    await watch.until('caught-up');
    const live = watchAll({ fromPosition: END });
    await live.until('caught-up');
    await append(freshStream(), happened({ n: 1 }));
    await live.until(3);
    expect(watch.said).to.deep.equal(['confirmed', 'caught-up']);
  });

  it('delivers everything in order to a slow reader while writers continue', async () => {
    const from = await here();
    const stream = freshStream();
    await append(stream, numbered(1_500));
    const seen: number[] = [];
    const subscription = store().client.subscribeToAll({
      fromPosition: from,
      filter: streamNameFilter({ prefixes: [stream] }),
    });
    for await (const { event } of subscription) {
      seen.push(Number(event?.revision));
      if (seen.length === 500) {
        for (let k = 0; k < 20; k += 1) await append(stream, numbered(100), BigInt(1_499 + 100 * k));
      }
      if (seen.length === 3_500) break;
    }
    await subscription.unsubscribe();
    expect(seen).to.deep.equal(Array.from({ length: 3_500 }, (_unused, n) => n));
  });
});
