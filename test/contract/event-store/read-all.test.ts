/** Reads of `$all`: one order for all streams. */
import { expect } from 'chai';
import { BACKWARDS, END, NO_STREAM, START } from '@eventstore/db-client';
import type { AppendResult, Position, ReadAllOptions } from '@eventstore/db-client';
import { openDirectConnection } from '../../../infra/postgres/direct-connection.ts';
import { eventually } from '../../support/suite/eventually.ts';
import {
  describeEmbedded,
  describeStores,
  freshStream,
  happened,
  numbered,
  rejection,
} from './store-under-test.ts';
import { SubscriptionWatch } from './subscription-watch.ts';

describeStores('read of $all', (store) => {
  const append = (events = [happened()]): Promise<AppendResult> =>
    store().client.appendToStream(freshStream(), events, {
      ...store().appendOptions,
      expectedRevision: NO_STREAM,
    });

  const positions = async (options: ReadAllOptions): Promise<bigint[]> => {
    const seen: bigint[] = [];
    for await (const { event } of store().client.readAll(options)) seen.push(event?.position.commit ?? -1n);
    return seen;
  };

  const place = (result: AppendResult): Position => result.position ?? { commit: -1n, prepare: -1n };

  it("returns a position for each event of an append, the last one as the append's", async () => {
    const before = place(await append());
    const result = place(await append(numbered(3)));
    const seen = await positions({ fromPosition: before });
    expect(seen).to.have.length(4);
    expect(seen).to.deep.equal([...new Set(seen)].sort((a, b) => (a < b ? -1 : 1)));
    expect(seen.at(-1)).to.equal(result.commit);
  });

  it('includes the position forwards and excludes it backwards', async () => {
    const first = place(await append());
    const second = place(await append());
    expect(await positions({ fromPosition: first })).to.deep.equal([first.commit, second.commit]);
    const back = await positions({ direction: BACKWARDS, fromPosition: second, maxCount: 1 });
    expect(back).to.deep.equal([first.commit]);
    const newest = await positions({ direction: BACKWARDS, fromPosition: END, maxCount: 2 });
    expect(newest).to.deep.equal([second.commit, first.commit]);
  });

  it('returns nothing forwards from the end, backwards from the start and beyond the end', async () => {
    const { commit } = place(await append());
    const beyond = commit + 1_000_000_000n;
    expect(await positions({ fromPosition: END })).to.deep.equal([]);
    expect(await positions({ direction: BACKWARDS, fromPosition: START })).to.deep.equal([]);
    expect(await positions({ fromPosition: { commit: beyond, prepare: beyond } })).to.deep.equal([]);
  });

  it('refuses a position inside the log when it is no event', async () => {
    const { commit } = place(await append());
    await append();
    const off = commit + 1n;
    const error = await rejection(positions({ fromPosition: { commit: off, prepare: off } }));
    expect(error).to.have.property('type', 'unknown');
  });

  it('returns every event once and in the order of each stream when writers raced', async () => {
    const from = place(await append());
    const streams = Array.from({ length: 10 }, () => freshStream());
    await Promise.all(
      streams.map(async (stream) => {
        for (let n = 0; n < 10; n += 1) {
          await store().client.appendToStream(stream, happened({ n }), {
            ...store().appendOptions,
            expectedRevision: n === 0 ? NO_STREAM : BigInt(n - 1),
          });
        }
      }),
    );
    const seen = new Map(streams.map((stream) => [stream, [] as number[]]));
    for await (const { event } of store().client.readAll({ fromPosition: from })) {
      seen.get(event?.streamId ?? '')?.push(Number(event?.revision));
    }
    for (const revisions of seen.values()) expect(revisions).to.deep.equal([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });

  it('reads backwards over several pages without a gap', async () => {
    const from = place(await append());
    await append(numbered(1_500));
    const back: bigint[] = [];
    for await (const { event } of store().client.readAll({ direction: BACKWARDS, fromPosition: END })) {
      if ((event?.position.commit ?? 0n) <= from.commit) break;
      back.push(event?.position.commit ?? -1n);
    }
    expect(back).to.have.length(1_500);
    expect(back.toReversed()).to.deep.equal((await positions({ fromPosition: from })).slice(1));
  });
});

describeEmbedded('read of $all', (store) => {
  it('skips a gap of any size in both directions and in subscriptions, also after a restart', async () => {
    const append = () =>
      store().client.appendToStream(freshStream(), numbered(2), { expectedRevision: NO_STREAM });
    await append();
    await store().stopNode();
    const database = await openDirectConnection(store().databaseUrl, 'gap test');
    await database.query('UPDATE log.node_epoch SET log_end = log_end + 10000000000');
    await database.end();
    await store().startNode();
    const seen = async (options: ReadAllOptions): Promise<number[]> => {
      const revisions: number[] = [];
      for await (const { event } of store().client.readAll(options)) revisions.push(Number(event?.revision));
      return revisions;
    };
    await eventually(() => append().then(Boolean, () => false));
    expect(await seen({})).to.deep.equal([0, 1, 0, 1]);
    expect(await seen({ direction: BACKWARDS, fromPosition: END })).to.deep.equal([1, 0, 1, 0]);
    const watch = new SubscriptionWatch(store().client.subscribeToAll());
    expect(await watch.until('caught-up')).to.deep.equal(['confirmed', 0, 1, 0, 1, 'caught-up']);
    await watch.end();
  });
});
