/** Streams that were deleted for ever. */
import { expect } from 'chai';
import {
  ANY,
  BACKWARDS,
  END,
  NO_STREAM,
  STREAM_EXISTS,
  StreamDeletedError,
  WrongExpectedVersionError,
} from '@eventstore/db-client';
import type { AppendExpectedRevision } from '@eventstore/db-client';
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

const TOMBSTONE = { revision: 2n ** 63n - 1n, type: '$streamDeleted' };

describeStores('tombstone', (store) => {
  const append = (stream: string, expectedRevision: AppendExpectedRevision) =>
    store().client.appendToStream(stream, happened(), { ...store().appendOptions, expectedRevision });

  const given = async (count = 2): Promise<string> => {
    const stream = freshStream();
    await store().client.appendToStream(stream, numbered(count), {
      ...store().appendOptions,
      expectedRevision: NO_STREAM,
    });
    return stream;
  };

  const read = async (stream: string): Promise<void> => {
    for await (const { event } of store().client.readStream(stream)) expect(event).to.equal(undefined);
  };

  it('refuses every append, read, delete and subscription of its stream and of the metadata', async () => {
    const { client } = store();
    const stream = await given();
    await client.tombstoneStream(stream, { expectedRevision: 1n });
    const attempts: readonly (() => Promise<unknown>)[] = [
      () => append(stream, ANY),
      () => append(stream, NO_STREAM),
      () => append(stream, STREAM_EXISTS),
      () => append(stream, 1n),
      () => append(`$$${stream}`, ANY),
      () => read(stream),
      () => read(`$$${stream}`),
      () => client.deleteStream(stream),
      () => client.tombstoneStream(stream),
    ];
    for (const attempt of attempts) {
      expect(await rejection(attempt(), StreamDeletedError)).to.have.property('type', 'stream-deleted');
    }
    const watch = new SubscriptionWatch(client.subscribeToStream(stream));
    await eventually(() => watch.said.includes('error:stream-deleted'));
    expect(watch.said).to.deep.equal(['error:stream-deleted']);
  });

  it('is the last event of its stream, in $all behind the others', async () => {
    const stream = await given();
    const { position } = await store().client.tombstoneStream(stream);
    const newest = store().client.readAll({ direction: BACKWARDS, fromPosition: END, maxCount: 3 });
    const seen: unknown[] = [];
    for await (const { event } of newest) {
      expect(event?.streamId).to.equal(stream);
      seen.push([event?.revision, event?.type, event?.position.commit]);
    }
    expect(seen[0]).to.deep.equal([TOMBSTONE.revision, TOMBSTONE.type, position?.commit]);
    expect(seen.slice(1)).to.have.length(2);
  });

  it('is delivered to followers of the stream and ends their subscription', async () => {
    const stream = await given();
    const watch = new SubscriptionWatch(store().client.subscribeToStream(stream));
    await watch.until('caught-up');
    await append(stream, 1n);
    await watch.until(5);
    await store().client.tombstoneStream(stream);
    await eventually(() => watch.said.includes('error:stream-deleted'));
    expect(watch.said.slice(5)).to.deep.equal([TOMBSTONE.type, 'error:stream-deleted']);
  });

  it('requires the expected revision and is accepted when no stream exists', async () => {
    const { client } = store();
    const stream = await given();
    for (const expectedRevision of [0n, NO_STREAM] as const) {
      const stale = client.tombstoneStream(stream, { expectedRevision });
      expect(await rejection(stale)).to.be.instanceOf(WrongExpectedVersionError);
    }
    const missing = freshStream();
    await rejection(client.tombstoneStream(missing, { expectedRevision: 3n }), WrongExpectedVersionError);
    await client.tombstoneStream(missing, { expectedRevision: ANY });
    await client.tombstoneStream(freshStream(), { expectedRevision: NO_STREAM });
    await rejection(append(missing, NO_STREAM), StreamDeletedError);
  });

  it('ends a stream that was soft-deleted', async () => {
    const stream = await given();
    await store().client.deleteStream(stream);
    await store().client.tombstoneStream(stream, { expectedRevision: NO_STREAM });
    await rejection(append(stream, ANY), StreamDeletedError);
    await rejection(read(stream), StreamDeletedError);
  });
});

describeEmbedded('tombstone', (store) => {
  it('holds after a restart', async () => {
    const stream = freshStream();
    const append = () => store().client.appendToStream(stream, happened(), { expectedRevision: ANY });
    await append();
    await store().client.tombstoneStream(stream);
    await store().stopNode();
    await store().startNode();
    const refused = (error: unknown) => error instanceof StreamDeletedError;
    await eventually(() => append().then(() => false, refused));
  });
});
