/** Soft delete, reopening and stream metadata. */
import { expect } from 'chai';
import {
  ANY,
  BACKWARDS,
  END,
  NO_STREAM,
  STREAM_EXISTS,
  StreamDeletedError,
  StreamNotFoundError,
  WrongExpectedVersionError,
  binaryEvent,
  jsonEvent,
} from '@eventstore/db-client';
import type { AppendExpectedRevision, JSONEventData } from '@eventstore/db-client';
import { eventually } from '../../support/suite/eventually.ts';
import { describeStores, freshStream, happened, numbered, rejection } from './store-under-test.ts';
import { SubscriptionWatch } from './subscription-watch.ts';

describeStores('soft delete and metadata', (store) => {
  const append = (
    stream: string,
    expectedRevision: AppendExpectedRevision,
    events: JSONEventData | JSONEventData[] = happened(),
  ) => store().client.appendToStream(stream, events, { ...store().appendOptions, expectedRevision });

  const revisions = async (stream: string, options = {}): Promise<number[]> => {
    const seen: number[] = [];
    for await (const { event } of store().client.readStream(stream, options))
      seen.push(Number(event?.revision));
    return seen;
  };

  const given = async (count: number): Promise<string> => {
    const stream = freshStream();
    await append(stream, NO_STREAM, numbered(count));
    return stream;
  };

  it('hides a deleted stream from reads, but not from $all', async () => {
    const stream = await given(2);
    const { position } = await store().client.deleteStream(stream, { expectedRevision: 1n });
    expect(await rejection(revisions(stream))).to.be.instanceOf(StreamNotFoundError);
    const seen: string[] = [];
    for await (const { event } of store().client.readAll({
      direction: BACKWARDS,
      fromPosition: END,
      maxCount: 3,
    })) {
      seen.push(`${String(event?.streamId)} ${String(event?.type)}`);
    }
    expect(seen).to.deep.equal([
      `$$${stream} $metadata`,
      `${stream} ContractHappened`,
      `${stream} ContractHappened`,
    ]);
    expect(Number(position?.commit)).to.be.above(0);
  });

  it('refuses a delete when the revision differs or the stream does not exist', async () => {
    const stream = await given(2);
    const stale = store().client.deleteStream(stream, { expectedRevision: 0n });
    expect(await rejection(stale)).to.be.instanceOf(WrongExpectedVersionError);
    const missing = store().client.deleteStream(freshStream(), { expectedRevision: ANY });
    expect(await rejection(missing)).to.be.instanceOf(WrongExpectedVersionError);
  });

  for (const expected of [ANY, NO_STREAM, 1n] as const) {
    it(`reopens with ${String(expected)}, continues the revisions and keeps deleted events hidden`, async () => {
      const stream = await given(2);
      await store().client.deleteStream(stream);
      expect(await append(stream, expected)).to.include({ nextExpectedRevision: 2n });
      expect(await revisions(stream)).to.deep.equal([2]);
      expect(await append(stream, 2n)).to.include({ nextExpectedRevision: 3n });
      const { metadata } = await store().client.getStreamMetadata(stream);
      expect(metadata).to.have.property('truncateBefore', 2);
    });
  }

  it('refuses "stream exists" on a deleted stream and repeats an old append without a position', async () => {
    const stream = freshStream();
    const event = happened();
    await append(stream, NO_STREAM, event);
    await store().client.deleteStream(stream);
    expect(await rejection(append(stream, STREAM_EXISTS))).to.be.instanceOf(StreamDeletedError);
    const repeated = await append(stream, NO_STREAM, event);
    expect(repeated).to.deep.include({ success: true, nextExpectedRevision: 0n, position: undefined });
    expect(await rejection(revisions(stream))).to.be.instanceOf(StreamNotFoundError);
  });

  it('repeats an append without a position when metadata hides its events', async () => {
    const stream = freshStream();
    const [first, second] = numbered(2);
    if (!first || !second) throw new Error('two events');
    await append(stream, NO_STREAM, first);
    const { position } = await append(stream, 0n, second);
    await store().client.setStreamMetadata(stream, { maxCount: 1 });
    const hidden = { nextExpectedRevision: 0n, position: undefined };
    expect(await append(stream, NO_STREAM, first)).to.deep.include(hidden);
    expect(await append(stream, ANY, first)).to.deep.include(hidden);
    expect(await append(stream, 0n, second)).to.deep.include({ nextExpectedRevision: 1n, position });
  });

  it('deletes a stream twice, also with "no stream", and reopens it', async () => {
    const stream = await given(1);
    await store().client.deleteStream(stream);
    await store().client.deleteStream(stream, { expectedRevision: 0n });
    await store().client.deleteStream(stream, { expectedRevision: NO_STREAM });
    await append(stream, NO_STREAM);
    expect(await revisions(stream)).to.deep.equal([1]);
  });

  it('returns only the last events when $maxCount is set, and none below $tb', async () => {
    const stream = await given(10);
    await store().client.setStreamMetadata(stream, { maxCount: 3 });
    expect(await revisions(stream)).to.deep.equal([7, 8, 9]);
    expect(await revisions(stream, { direction: BACKWARDS, fromRevision: 2n })).to.deep.equal([]);
    expect(await revisions(stream, { direction: BACKWARDS, fromRevision: END })).to.deep.equal([9, 8, 7]);
    await store().client.setStreamMetadata(stream, { truncateBefore: 9 });
    expect(await revisions(stream)).to.deep.equal([9]);
    expect(await append(stream, 9n)).to.include({ nextExpectedRevision: 10n });
  });

  it('returns an empty stream when all events are older than $maxAge, and keeps them in $all', async () => {
    const stream = await given(3);
    const from = (await append(freshStream(), NO_STREAM)).position;
    await store().client.setStreamMetadata(stream, { maxAge: 1 });
    const agedAt = Date.now() + 1_100;
    await eventually(() => Date.now() > agedAt);
    expect(await revisions(stream)).to.deep.equal([]);
    expect(await revisions(stream, { direction: BACKWARDS, fromRevision: END })).to.deep.equal([]);
    expect(await append(stream, 2n)).to.include({ nextExpectedRevision: 3n });
    expect(await revisions(stream)).to.deep.equal([3]);
    expect(await revisions(stream, { fromRevision: 1n })).to.deep.equal([3]);
    expect(await revisions(stream, { direction: BACKWARDS, fromRevision: END })).to.deep.equal([3]);
    const watch = new SubscriptionWatch(store().client.subscribeToStream(stream));
    expect(await watch.until('caught-up')).to.have.length(3);
    await watch.end();
    let before = 0;
    const all = store().client.readAll({
      direction: BACKWARDS,
      ...(from ? { fromPosition: from } : {}),
      maxCount: 3,
    });
    for await (const { event } of all) before += event?.streamId === stream ? 1 : 0;
    expect(before).to.equal(3);
  });

  it('keeps deleted events hidden when metadata is set, and writes the start of the stream again', async () => {
    const stream = await given(3);
    await store().client.deleteStream(stream);
    await store().client.setStreamMetadata(stream, { maxCount: 100, owner: 'somebody' });
    expect(await revisions(stream).catch(() => [])).to.deep.equal([]);
    const { metadata } = await store().client.getStreamMetadata(stream);
    expect(metadata).to.deep.equal({ truncateBefore: 3, maxCount: 100, owner: 'somebody' });
    expect(await append(stream, ANY)).to.include({ nextExpectedRevision: 3n });
    expect(await revisions(stream)).to.deep.equal([3]);
  });

  for (const expectedRevision of [ANY, NO_STREAM] as const) {
    it(`deletes and reopens a stream when only its metadata was set (${expectedRevision})`, async () => {
      const stream = freshStream();
      await store().client.setStreamMetadata(stream, { maxCount: 5 });
      await store().client.deleteStream(stream, { expectedRevision });
      expect(await append(stream, NO_STREAM)).to.include({ nextExpectedRevision: 0n });
      expect(await revisions(stream)).to.deep.equal([0]);
    });
  }

  it('accepts "stream exists" when only the metadata of the stream was set', async () => {
    const stream = freshStream();
    await store().client.setStreamMetadata(stream, { maxCount: 5 });
    expect(await append(stream, STREAM_EXISTS)).to.include({ nextExpectedRevision: 0n });
  });

  it('refuses an append to a deleted stream when it begins with the first event and continues with a new one', async () => {
    const stream = freshStream();
    const [old, fresh] = numbered(2);
    if (!old || !fresh) throw new Error('two events');
    await append(stream, NO_STREAM, old);
    await store().client.deleteStream(stream);
    expect(await rejection(append(stream, NO_STREAM, [old, fresh]))).to.be.instanceOf(
      WrongExpectedVersionError,
    );
    expect(await append(stream, NO_STREAM, [fresh, old])).to.include({ nextExpectedRevision: 2n });
  });

  it('writes at the start of a reopened stream behind the events that reopen it', async () => {
    const stream = await given(1);
    await store().client.deleteStream(stream);
    const { position } = await append(stream, NO_STREAM, numbered(2));
    const newest = store().client.readAll({ direction: BACKWARDS, fromPosition: END, maxCount: 3 });
    const seen: string[] = [];
    for await (const { event } of newest) seen.push(String(event?.streamId));
    expect(seen).to.deep.equal([`$$${stream}`, stream, stream]);
    const from = store().client.readAll({ fromPosition: position ?? END, maxCount: 1 });
    for await (const { event } of from) expect(event?.streamId).to.equal(stream);
  });

  it('replaces all metadata when the stream is deleted', async () => {
    const stream = await given(1);
    await store().client.setStreamMetadata(stream, { maxCount: 5, owner: 'somebody' });
    await store().client.deleteStream(stream);
    await append(stream, NO_STREAM);
    const { metadata } = await store().client.getStreamMetadata(stream);
    expect(metadata).to.deep.equal({ truncateBefore: 1 });
  });

  it('ignores metadata that is not marked as JSON and limits that are not positive', async () => {
    const stream = await given(3);
    const bytes = Buffer.from('{"$maxCount":1}');
    await store().client.appendToStream(`$$${stream}`, binaryEvent({ type: '$metadata', data: bytes }), {
      ...store().appendOptions,
      expectedRevision: NO_STREAM,
    });
    expect(await revisions(stream)).to.deep.equal([0, 1, 2]);
    await append(`$$${stream}`, 0n, jsonEvent({ type: '$metadata', data: { $maxAge: 'soon' } }));
    expect(await revisions(stream)).to.deep.equal([0, 1, 2]);
  });

  it('keeps only the newest metadata and creates no stream when only metadata is set', async () => {
    const stream = freshStream();
    const first = await store().client.setStreamMetadata(stream, { maxCount: 5, owner: 'first' });
    const second = await store().client.setStreamMetadata(stream, { owner: 'second' });
    expect([first.nextExpectedRevision, second.nextExpectedRevision]).to.deep.equal([0n, 1n]);
    expect(await revisions(`$$${stream}`)).to.deep.equal([1]);
    expect((await store().client.getStreamMetadata(stream)).metadata).to.deep.equal({ owner: 'second' });
    expect(await rejection(revisions(stream))).to.be.instanceOf(StreamNotFoundError);
    expect(await append(stream, NO_STREAM)).to.include({ nextExpectedRevision: 0n });
  });

  it('accepts and ignores metadata that is not an object', async () => {
    const stream = await given(2);
    const metadata = jsonEvent({ type: '$metadata', data: ['no', 'object'] });
    await append(`$$${stream}`, NO_STREAM, metadata);
    expect(await revisions(stream)).to.deep.equal([0, 1]);
  });
});
