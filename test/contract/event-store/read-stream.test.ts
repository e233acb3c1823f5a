/** Reads of one stream, in both directions and at their edges. */
import { expect } from 'chai';
import { BACKWARDS, END, FORWARDS, NO_STREAM, START, StreamNotFoundError } from '@eventstore/db-client';
import type { ReadStreamOptions } from '@eventstore/db-client';
import { describeStores, freshStream, numbered, rejection } from './store-under-test.ts';

describeStores('read of a stream', (store) => {
  const revisions = async (stream: string, options: ReadStreamOptions): Promise<number[]> => {
    const seen: number[] = [];
    for await (const { event } of store().client.readStream(stream, options))
      seen.push(Number(event?.revision));
    return seen;
  };

  const given = async (count: number): Promise<string> => {
    const stream = freshStream();
    await store().client.appendToStream(stream, numbered(count), {
      ...store().appendOptions,
      expectedRevision: NO_STREAM,
    });
    return stream;
  };

  it('returns events forwards and backwards from any revision up to a count', async () => {
    const stream = await given(5);
    const read = (options: ReadStreamOptions) => revisions(stream, options);
    const readAll = async (): Promise<void> => {
      expect(await read({})).to.deep.equal([0, 1, 2, 3, 4]);
      expect(await read({ fromRevision: 3n })).to.deep.equal([3, 4]);
      expect(await read({ fromRevision: 1n, maxCount: 2 })).to.deep.equal([1, 2]);
      expect(await read({ direction: BACKWARDS, fromRevision: END })).to.deep.equal([4, 3, 2, 1, 0]);
      expect(await read({ direction: BACKWARDS, fromRevision: END, maxCount: 1 })).to.deep.equal([4]);
      expect(await read({ direction: BACKWARDS, fromRevision: 2n })).to.deep.equal([2, 1, 0]);
    };
    await readAll();
    // The embedded node has young events in memory until it restarts.
    await store().restart?.();
    await readAll();
  });

  it('clamps backwards to the ends and returns nothing forwards past the head', async () => {
    const stream = await given(2);
    expect(await revisions(stream, { direction: BACKWARDS, fromRevision: 99n })).to.deep.equal([1, 0]);
    expect(await revisions(stream, { direction: BACKWARDS, fromRevision: START })).to.deep.equal([0]);
    expect(await revisions(stream, { fromRevision: 2n })).to.deep.equal([]);
    expect(await revisions(stream, { fromRevision: 1_000_000n })).to.deep.equal([]);
  });

  it('refuses to read forwards from the end and a count of zero', async () => {
    const stream = await given(1);
    const senseless: ReadStreamOptions[] = [
      { fromRevision: END },
      { fromRevision: 2n ** 64n - 1n },
      { maxCount: 0 },
    ];
    for (const options of senseless) {
      expect(await rejection(revisions(stream, options))).to.have.property('type', 'unknown');
    }
  });

  it('reports a missing stream as missing in both directions and from any revision', async () => {
    const stream = freshStream();
    for (const direction of [FORWARDS, BACKWARDS] as const) {
      const error = await rejection(revisions(stream, { direction, fromRevision: 3n }));
      expect(error).to.be.instanceOf(StreamNotFoundError);
    }
  });

  it('returns a stream of several pages whole and in order at any page edge', async () => {
    const stream = await given(2_500);
    const all = Array.from({ length: 2_500 }, (_unused, n) => n);
    const fromStart = async (): Promise<void> => {
      expect(await revisions(stream, {})).to.deep.equal(all);
      expect(await revisions(stream, { maxCount: 1_001 })).to.deep.equal(all.slice(0, 1_001));
    };
    await fromStart();
    await store().restart?.();
    await fromStart();
    expect(await revisions(stream, { direction: BACKWARDS, fromRevision: END })).to.deep.equal(
      all.toReversed(),
    );
  });

  it('continues when a reader disconnects in the middle', async () => {
    const stream = await given(2_000);
    for await (const { event } of store().client.readStream(stream)) if (event?.revision === 3n) break;
    expect(await revisions(stream, { maxCount: 1 })).to.deep.equal([0]);
  });
});
