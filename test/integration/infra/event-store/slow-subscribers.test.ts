/** 200 subscribers that read slowly or not at all cost the node a bounded amount of memory, and nobody else their pace. */
import { randomUUID } from 'node:crypto';
import { ANY, EventStoreDBClient, START, jsonEvent } from '@eventstore/db-client';
import { StreamsClient } from '@eventstore/db-client/generated/streams_grpc_pb.js';
import shared from '@eventstore/db-client/generated/shared_pb.js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import { credentials } from '@grpc/grpc-js';
import type { ClientReadableStream } from '@grpc/grpc-js';
import { expect } from 'chai';
import { eventually } from '../../../support/suite/eventually.ts';
import { figure, isLong, timesOf } from '../../../support/suite/long.ts';
import { testDatabase } from '../../../support/servers/postgres.ts';
import type { TestDatabase } from '../../../support/servers/postgres.ts';
import { NodeChild } from './node-child.ts';

const MIB = 1_048_576;
const SUBSCRIBERS = 200;
const PER_CONNECTION = 50;
const EVENTS = timesOf(20_000, 150_000);
const EVENTS_PER_APPEND = 500;

/**
 * What the node may hold more than before: for each subscriber a page (128 KiB), what is unsent (32 KiB) and the socket's
 * share, 200 KiB in all; the newest events once as they came and once encoded (16 MiB), with the buffers they arrived in
 * (as much again); a commit of 8 MiB and its copy. All that was appended is 20 MiB here, more than the newest events kept, and 4 GiB for 200 subscribers.
 */
const MOST_GROWTH = (SUBSCRIBERS * 200 * 1_024 + 2 * 16 * MIB + 2 * 8 * MIB) / MIB;

/** Beside what is in use: garbage not collected yet and what the allocators keep back, which do not grow with the log. */
const MOST_RESIDENT_GROWTH = 320;

type Call = ClientReadableStream<streams.ReadResp>;

/** A subscription to `$all` that takes nothing until it is asked to. */
class SlowSubscriber {
  readonly revisions: string[] = [];
  readonly #call: Call;

  constructor(client: StreamsClient) {
    const options = new streams.ReadReq.Options();
    const all = new streams.ReadReq.Options.AllOptions().setStart(new shared.Empty());
    options.setAll(all).setSubscription(new streams.ReadReq.Options.SubscriptionOptions());
    options.setNoFilter(new shared.Empty());
    options.setUuidOption(new streams.ReadReq.Options.UUIDOption().setString(new shared.Empty()));
    this.#call = client.read(new streams.ReadReq().setOptions(options));
    this.#call.on('error', () => undefined); // it is cancelled in the end
    // Unless reading has begun, the library takes everything off the connection and keeps it.
    this.#call.read(0);
  }

  /** Takes what has arrived, at most so many answers. */
  take(most: number): void {
    for (let taken = 0; taken < most; taken += 1) {
      const answer = this.#call.read() as streams.ReadResp | null;
      if (answer === null) return;
      this.#note(answer);
    }
  }

  /** From now on it takes everything at once. */
  hurry(): void {
    this.#call.on('data', (answer: streams.ReadResp) => {
      this.#note(answer);
    });
  }

  #note(answer: streams.ReadResp): void {
    const event = answer.getEvent()?.getEvent();
    if (event) this.revisions.push(`${text(event.getStreamIdentifier())}@${event.getStreamRevision()}`);
  }

  cancel(): void {
    this.#call.cancel();
  }
}

const text = (stream: shared.StreamIdentifier | undefined): string =>
  Buffer.from(stream?.getStreamName_asU8() ?? []).toString();

describe('slow subscribers of the event node', function () {
  this.timeout(isLong ? 600_000 : 180_000);
  let database: TestDatabase;
  let node: NodeChild;
  let client: EventStoreDBClient;
  let channels: StreamsClient[];
  let slow: SlowSubscriber[];

  beforeEach(async () => {
    database = await testDatabase();
    node = await NodeChild.start({ databaseUrl: database.url });
    client = EventStoreDBClient.connectionString(node.url);
    channels = Array.from({ length: SUBSCRIBERS / PER_CONNECTION }, () => connect(node.port));
    slow = [];
  });

  afterEach(async () => {
    for (const subscriber of slow) subscriber.cancel();
    for (const channel of channels) channel.close();
    await client.dispose();
    await node.end();
    await database.drop();
  });

  it(`get all of ${String(EVENTS)} events of 1 KiB, 200 of them, with bounded memory and a fast one unaffected`, async () => {
    await append(client, 10);
    slow = channels.flatMap((channel) =>
      Array.from({ length: PER_CONNECTION }, () => new SlowSubscriber(channel)),
    );
    const fast = client.subscribeToAll({ fromPosition: START });
    let seen = 0;
    fast.on('data', () => {
      seen += 1;
    });
    await eventually(async () => seen === 10 && (await node.facts()).openCalls > SUBSCRIBERS);
    const before = await node.facts();

    const startedAt = performance.now();
    for (let written = 0; written < EVENTS; written += EVENTS_PER_APPEND) {
      await append(client, EVENTS_PER_APPEND);
      // Every fourth subscriber reads a little now and then, the others nothing.
      for (const [n, subscriber] of slow.entries()) if (n % 4 === 0) subscriber.take(3);
    }
    const writtenAt = performance.now();
    await eventually(() => seen === EVENTS + 10, timesOf(10_000, 60_000));
    const lagMs = performance.now() - writtenAt;
    const after = await node.facts();
    const inUse = (after.heapUsed + after.external - before.heapUsed - before.external) / MIB;
    const resident = (after.rss - before.rss) / MIB;
    figure(
      `${String(SUBSCRIBERS)} slow subscribers, ${String(EVENTS)} events of 1 KiB: in use +${inUse.toFixed(0)} MiB ` +
        `(bound ${MOST_GROWTH.toFixed(0)}), resident +${resident.toFixed(0)} MiB (bound ${MOST_RESIDENT_GROWTH.toFixed(0)}); ` +
        `appends ${((EVENTS / (writtenAt - startedAt)) * 1_000).toFixed(0)}/s, the fast one ${lagMs.toFixed(0)} ms behind`,
    );
    expect(inUse).to.be.below(MOST_GROWTH);
    expect(resident).to.be.below(MOST_RESIDENT_GROWTH);

    const all: string[] = [];
    for await (const { event } of client.readAll())
      all.push(`${event?.streamId ?? ''}@${String(event?.revision)}`);
    for (const subscriber of [slow[0], slow[1], slow.at(-1)] as SlowSubscriber[]) {
      subscriber.hurry();
      await eventually(() => subscriber.revisions.length >= all.length, timesOf(20_000, 60_000));
      expect(subscriber.revisions).to.deep.equal(all);
    }
  });
});

const connect = (port: number): StreamsClient =>
  new StreamsClient(`127.0.0.1:${String(port)}`, credentials.createInsecure(), {
    'grpc.use_local_subchannel_pool': 1,
  });

async function append(client: EventStoreDBClient, count: number): Promise<void> {
  const events = Array.from({ length: count }, () =>
    jsonEvent({ type: 'Filled', data: { filler: 'x'.repeat(1_000) } }),
  );
  await client.appendToStream(`filled-${randomUUID()}`, events, { expectedRevision: ANY });
}
