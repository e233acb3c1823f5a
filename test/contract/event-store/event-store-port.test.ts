/** The `EventStore` port over the official client: what the rest of the gateway relies on. */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { expect } from 'chai';
import { GatewayError } from '../../../commands/values/errors.ts';
import { WrongExpectedRevision } from '../../../commands/ports/event-store.ts';
import type { SubscriptionItem } from '../../../commands/ports/event-store.ts';
import type { NewEvent } from '../../../commands/values/event.ts';
import type { Position } from '../../../commands/values/position.ts';
import { openEventStore } from '../../../infra/event-store/event-store-client.ts';
import type { ConnectedEventStore } from '../../../infra/event-store/event-store-client.ts';
import { CheckpointNotInLog } from '../../../infra/event-store/follow-all.ts';
import { silentLog } from '../../support/fakes/silent-log.ts';
import { describeStores, freshStream, rejection } from './store-under-test.ts';

const fact = (n = 0, id: string = randomUUID()): NewEvent => ({
  id,
  type: 'PortTested',
  data: { n },
  metadata: { v: 1 },
});

/** Takes items until one satisfies the condition. */
async function take(
  items: AsyncIterable<SubscriptionItem>,
  last: (item: SubscriptionItem) => boolean,
): Promise<SubscriptionItem[]> {
  const taken: SubscriptionItem[] = [];
  for await (const item of items) {
    taken.push(item);
    if (last(item)) break;
  }
  return taken;
}

const caughtUp = (item: SubscriptionItem): boolean => item.kind === 'caught-up';

const numbers = (items: readonly SubscriptionItem[]): unknown[] =>
  items.flatMap((item) => (item.kind === 'event' ? [item.event.data['n']] : []));

describeStores('event store port', (under) => {
  let store: ConnectedEventStore;
  before(() => {
    store = openEventStore({ url: under().url, log: silentLog, forceUnary: under().unary });
  });
  after(() => store.close());

  it('appends at "no stream" and at exact revisions and reads the events back', async () => {
    const stream = freshStream();
    const first = await store.append(stream, 'no-stream', [fact(0), fact(1)]);
    const second = await store.append(stream, 1n, [fact(2)]);
    expect([first.revision, second.revision]).to.deep.equal([1n, 2n]);
    expect(second.position > first.position).to.equal(true);
    const events = await store.readStream(stream);
    expect(events.map(({ data }) => data['n'])).to.deep.equal([0, 1, 2]);
    expect(events[2]).to.deep.include({ streamName: stream, revision: 2n, position: second.position });
    expect(events[0]).to.deep.include({ type: 'PortTested', metadata: { v: 1 } });
    expect((await store.readStream(stream, 1n)).map(({ revision }) => revision)).to.deep.equal([1n, 2n]);
    expect((await store.readLast(stream))?.revision).to.equal(2n);
    expect(await store.headPosition()).to.equal(second.position);
  });

  it('reads a missing stream as empty', async () => {
    expect(await store.readStream(freshStream())).to.deep.equal([]);
    expect(await store.readLast(freshStream())).to.equal(null);
  });

  it('reports the revision of the stream when another writer was first', async () => {
    const stream = freshStream();
    const missing = await rejection(store.append(stream, 4n, [fact()]));
    expect(missing)
      .to.be.instanceOf(WrongExpectedRevision)
      .and.to.include({ actual: 'no-stream', streamName: stream });
    await store.append(stream, 'no-stream', [fact(), fact()]);
    const stale = await rejection(store.append(stream, 0n, [fact()]));
    expect(stale).to.be.instanceOf(WrongExpectedRevision).and.to.include({ actual: 1n });
  });

  it('accepts one of two equal claims and reports success when the winner resends', async () => {
    const stream = freshStream();
    const claims = [[fact(1)], [fact(2)]];
    const results = await Promise.allSettled(
      claims.map((events) => store.append(stream, 'no-stream', events)),
    );
    expect(results.map(({ status }) => status).sort()).to.deep.equal(['fulfilled', 'rejected']);
    const winner = claims[results.findIndex(({ status }) => status === 'fulfilled')] ?? [];
    expect((await store.append(stream, 'no-stream', winner)).revision).to.equal(0n);
    expect(await store.readStream(stream)).to.have.length(1);
  });

  it('refuses values outside JSON, bad names and bad ids before it sends anything', async () => {
    const stream = freshStream();
    const cyclic: Record<string, unknown> = {};
    cyclic['self'] = cyclic;
    for (const value of [1n, undefined, Number.NaN, new Date(), new Map(), () => 1, Symbol('s'), cyclic]) {
      const event = { ...fact(), data: { deep: [{ value }] } };
      expect(await rejection(store.append(stream, 'no-stream', [event])), typeof value).to.be.instanceOf(
        TypeError,
      );
    }
    for (const name of [
      '$$',
      'nodash',
      '$system-1',
      'Capital-1',
      '-1',
      'a-',
      `a-${'x'.repeat(201)}`,
      'a-b\nc',
    ]) {
      expect(await rejection(store.append(name, 'no-stream', [fact()])), name).to.be.instanceOf(TypeError);
    }
    expect(await rejection(store.append(stream, 'no-stream', [fact(0, 'evt_1')]))).to.be.instanceOf(
      TypeError,
    );
    expect(await rejection(store.append(stream, 'no-stream', []))).to.be.instanceOf(TypeError);
    expect(await store.readStream(stream)).to.deep.equal([]);
  });

  it('reports an append as too large without resending it', async () => {
    const startedAt = performance.now();
    const event = { ...fact(), data: { text: 'x'.repeat(1_100_000) } };
    const error = await rejection(store.append(freshStream(), 'no-stream', [event]));
    expect(error).to.have.property('type', 'maximum-append-size-exceeded');
    expect(performance.now() - startedAt).to.be.below(8_000);
  });

  it('follows all events after a position, then live, without system events', async () => {
    const stream = freshStream();
    const { position } = await store.append(stream, 'no-stream', [fact(0)]);
    await store.append(stream, 0n, [fact(1)]);
    await under().client.setStreamMetadata(stream, { owner: 'test' });
    const end = new AbortController();
    const items = store.subscribeToAll(position, end.signal)[Symbol.asyncIterator]();
    const next = async (): Promise<SubscriptionItem | undefined> => {
      const result = await items.next();
      return result.done === true ? undefined : result.value;
    };
    expect(numbers([(await next()) ?? { kind: 'caught-up' }])).to.deep.equal([1]);
    const seen: SubscriptionItem[] = [];
    for (let item = await next(); item && item.kind !== 'caught-up'; item = await next()) seen.push(item);
    expect(numbers(seen)).to.deep.equal([]);
    await store.append(stream, 1n, [fact(2)]);
    expect(numbers([(await next()) ?? { kind: 'caught-up' }])).to.deep.equal([2]);
    const waiting = next();
    end.abort();
    expect(await waiting).to.equal(undefined);
  });

  it('reads a page of all events after a position and skips system events', async () => {
    const stream = freshStream();
    const { position } = await store.append(stream, 'no-stream', [fact(0)]);
    await under().client.setStreamMetadata(stream, { owner: 'test' });
    await under().client.setStreamMetadata(stream, { owner: 'tests' });
    await store.append(stream, 0n, [fact(1), fact(2), fact(3)]);
    const numbersAfter = async (after: Position, most: number): Promise<unknown[]> =>
      (await store.readAll(after, most)).map(({ data }) => data['n']);
    expect(await numbersAfter(position, 2)).to.deep.equal([1, 2]);
    expect(await numbersAfter(position, 100)).to.deep.equal([1, 2, 3]);
    expect(await numbersAfter(await store.headPosition(), 100)).to.deep.equal([]);
    expect((await store.readAll(null, 1)).map(({ type }) => type.startsWith('$'))).to.deep.equal([false]);
  });

  it('filters by stream prefixes', async () => {
    const from = await store.headPosition();
    const [one, two] = [freshStream('filtered'), freshStream('ignored')];
    await store.append(two, 'no-stream', [fact(2)]);
    await store.append(one, 'no-stream', [fact(1)]);
    const filter = { streamPrefixes: ['filtered-'] };
    const items = await take(
      store.subscribeToAll(from === -1n ? null : from, new AbortController().signal, filter),
      caughtUp,
    );
    expect(numbers(items)).to.deep.equal([1]);
  });

  it('returns checkpoints only behind every earlier event and resumes there', async () => {
    const { position: from } = await store.append(freshStream(), 'no-stream', [fact()]);
    const wanted = freshStream('rare');
    const others = (count: number) => Array.from({ length: count }, () => fact(-1));
    await store.append(freshStream(), 'no-stream', others(1_200));
    await store.append(wanted, 'no-stream', [fact(1)]);
    await store.append(freshStream(), 'no-stream', others(1_200));
    await store.append(wanted, 0n, [fact(2)]);
    await store.append(freshStream(), 'no-stream', others(2_400));
    const filter = { streamPrefixes: ['rare-'] };
    const end = new AbortController();
    const following = store.subscribeToAll(from, end.signal, filter)[Symbol.asyncIterator]();
    const until = async (last: (item: SubscriptionItem) => boolean): Promise<SubscriptionItem[]> => {
      const taken: SubscriptionItem[] = [];
      for (;;) {
        const next = await following.next();
        if (next.done === true) throw new Error('the subscription ended');
        taken.push(next.value);
        if (last(next.value)) return taken;
      }
    };
    const caught = await until(caughtUp);
    expect(numbers(caught)).to.deep.equal([1, 2]);
    // While catching up a server may name places beside events only; live it names every 1,024th event.
    await store.append(freshStream(), 'no-stream', others(1_200));
    const live = await until(({ kind }) => kind === 'checkpoint');
    const places = [...caught, ...live].flatMap((item): Position[] =>
      item.kind === 'event' ? [item.event.position] : item.kind === 'checkpoint' ? [item.position] : [],
    );
    expect(places).to.deep.equal([...new Set(places)].sort((a, b) => (a < b ? -1 : 1)));
    const checkpoint = places.at(-1) ?? -1n;
    await store.append(wanted, 1n, [fact(3)]);
    const resumed = await take(store.subscribeToAll(checkpoint, end.signal, filter), caughtUp);
    expect(numbers(resumed)).to.deep.equal([3]);
    expect(numbers(await until(({ kind }) => kind === 'event'))).to.deep.equal([3]);
    end.abort();
  });

  it('refuses to follow from a position beyond the end of the log', async () => {
    const head = await store.headPosition();
    const following = take(store.subscribeToAll(head + 1_000_000n, new AbortController().signal), caughtUp);
    expect(await rejection(following)).to.be.instanceOf(CheckpointNotInLog);
  });

  it('serves many subscriptions while it appends and reads', async () => {
    const from = await store.headPosition();
    const end = new AbortController();
    const stream = freshStream();
    const following = Array.from({ length: 120 }, () =>
      take(
        store.subscribeToAll(from, end.signal),
        (item) => item.kind === 'event' && item.event.data['n'] === 9,
      ),
    );
    await store.append(stream, 'no-stream', [fact(8), fact(9)]);
    for (const items of await Promise.all(following)) expect(numbers(items)).to.deep.equal([8, 9]);
    end.abort();
  });
});

describe('event store port without a store', () => {
  const nobody = (options: { url: string }) =>
    openEventStore({ ...options, log: silentLog, appendTimeoutMs: 300, readTimeoutMs: 300 });

  it('answers store_unavailable within the deadline', async () => {
    const store = nobody({ url: 'esdb://127.0.0.1:1?tls=false' });
    for (const attempt of [
      () => store.append(freshStream(), 'no-stream', [fact()]),
      () => store.readStream(freshStream()),
      () => store.headPosition(),
    ]) {
      const startedAt = performance.now();
      const error = await rejection(attempt());
      expect(error).to.be.instanceOf(GatewayError).and.to.include({ code: 'store_unavailable' });
      expect(performance.now() - startedAt).to.be.below(8_000);
    }
    await store.close();
  });

  it('answers store_unavailable and follows nothing when it is closed', async () => {
    const store = nobody({ url: 'esdb://127.0.0.1:1?tls=false' });
    await store.close();
    const attempts = [
      store.append(freshStream(), 'no-stream', [fact()]),
      store.readStream(freshStream()),
      store.readAll(null, 1),
    ];
    for (const attempt of attempts) {
      expect(await rejection(attempt)).to.include({ code: 'store_unavailable' });
    }
    const items = await take(store.subscribeToAll(null, new AbortController().signal), () => false);
    expect(items).to.deep.equal([]);
  });

  it('logs nothing when a subscription was given up before its confirmation', async () => {
    const silent = createServer(() => undefined);
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const lines: string[] = [];
    const note = (line: string): void => {
      lines.push(line);
    };
    const { port } = silent.address() as AddressInfo;
    const log = { info: note, warn: note, error: note };
    const store = openEventStore({ url: `esdb://127.0.0.1:${String(port)}?tls=false`, log });
    const end = new AbortController();
    const connected = once(silent, 'connection') as Promise<[Socket]>;
    const following = take(store.subscribeToAll(null, end.signal), caughtUp);
    const [socket] = await connected;
    end.abort();
    expect(await following).to.deep.equal([]);
    await store.close();
    expect(lines).to.deep.equal([]);
    socket.destroy();
    silent.close();
  });

  it('refuses an address with which the client would report wrong revisions', () => {
    for (const setting of ['throwOnAppendFailure', 'throw_on_append_failure', 'THROW-ON-APPEND-FAILURE']) {
      expect(() => nobody({ url: `esdb://127.0.0.1:1?tls=false&${setting}=false` }), setting).to.throw(
        TypeError,
      );
    }
  });
});
