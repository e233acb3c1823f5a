/** What the embedded node leaves out on purpose, so that nobody learns it from a surprise. */
import { expect } from 'chai';
import {
  EventStoreDBClient,
  NO_STREAM,
  persistentSubscriptionToStreamSettingsFromDefaults,
} from '@eventstore/db-client';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import { RawCalls, empty, named } from './raw-calls.ts';
import { describeEmbedded, embeddedStore, freshStream, happened, rejection } from './store-under-test.ts';

/** gRPC status 12. */
const UNIMPLEMENTED = /UNIMPLEMENTED/;

describeEmbedded('the embedded node', (store) => {
  const given = async (): Promise<string> => {
    const stream = freshStream();
    await store().client.appendToStream(stream, happened(), { expectedRevision: NO_STREAM });
    return stream;
  };

  it('writes no events of its own: a fresh log is empty', async () => {
    const fresh = await embeddedStore();
    const client = EventStoreDBClient.connectionString(fresh.url);
    const types: (string | undefined)[] = [];
    for await (const { event } of client.readAll({ maxCount: 1 })) types.push(event?.type);
    await client.dispose();
    await fresh.remove();
    expect(types).to.deep.equal([]);
  });

  it('refuses persistent subscriptions', async () => {
    const settings = persistentSubscriptionToStreamSettingsFromDefaults();
    const created = store().client.createPersistentSubscriptionToStream(await given(), 'group', settings);
    expect((await rejection(created)).message).to.match(/persistent|UNIMPLEMENTED|support/i);
  });

  it('has no projections and no category streams', async () => {
    expect((await rejection(store().client.listProjections())).message).to.match(UNIMPLEMENTED);
  });

  it('refuses names that Postgres or clients cannot use: $$, metadata of metadata, over 2,400 bytes', async () => {
    for (const name of ['$$', '$$$$x', 'x'.repeat(2_401)]) {
      const appended = store().client.appendToStream(name, happened(), { expectedRevision: NO_STREAM });
      expect(await rejection(appended)).to.have.property('type', 'unknown');
    }
  });

  it('refuses types and event metadata over 15 MiB per append', async () => {
    const { id, type, data, contentType } = happened();
    const event = { id, type, data, contentType, metadata: { text: 'x'.repeat(15 * 1_048_576) } };
    const appended = store().client.appendToStream(freshStream(), event, { expectedRevision: NO_STREAM });
    expect(await rejection(appended)).to.have.property('type', 'maximum-append-size-exceeded');
  });
});

describeEmbedded('the answers of the embedded node', (store) => {
  let raw: RawCalls;
  beforeEach(() => {
    raw = new RawCalls(store().url);
  });
  afterEach(() => {
    raw.close();
  });

  const given = async (): Promise<string> => {
    const stream = freshStream();
    await store().client.appendToStream(stream, happened(), { expectedRevision: NO_STREAM });
    return stream;
  };

  it('omit the versions of a refused append in the form of 20.6', async () => {
    const options = new streams.AppendReq.Options().setStreamIdentifier(named(await given()));
    const refusal = (await raw.append(options.setRevision('7'), [])).getWrongExpectedVersion();
    expect([refusal?.getCurrentRevision(), refusal?.hasCurrentRevision2060()]).to.deep.equal(['0', false]);
  });

  it('omit the first and last revision of a stream when a caller requests them', async () => {
    const stream = new streams.ReadReq.Options.StreamOptions().setStreamIdentifier(named(await given()));
    const options = new streams.ReadReq.Options().setStream(stream.setStart(empty())).setNoFilter(empty());
    options.setControlOption(new streams.ReadReq.Options.ControlOption().setCompatibility(1));
    const answers = await raw.read(options.setCount('10'));
    expect(answers.map((answer) => answer.hasEvent())).to.deep.equal([true]);
  });

  it('omit the position when an append has no events', async () => {
    const { position } = await store().client.appendToStream(await given(), happened(), {
      expectedRevision: 0n,
    });
    const options = new streams.AppendReq.Options().setStreamIdentifier(named(freshStream()));
    const nothing = await raw.append(options.setNoStream(empty()), []);
    expect(nothing.getSuccess()?.getPosition()?.getCommitPosition()).to.equal(String(position?.commit));
  });
});

describeEmbedded('the gossip of the embedded node', (store) => {
  it('describes a cluster of one that discovery finds', async () => {
    const address = store().url.replace(/^esdb:\/\/([^?]+)\?.*$/, '$1');
    const client = EventStoreDBClient.connectionString(`esdb+discover://${address}?tls=false`);
    const stream = freshStream();
    await client.appendToStream(stream, happened(), { expectedRevision: NO_STREAM });
    await client.dispose();
    const next = await store().client.appendToStream(stream, happened(), { expectedRevision: 0n });
    expect(next.nextExpectedRevision).to.equal(1n);
  });
});
