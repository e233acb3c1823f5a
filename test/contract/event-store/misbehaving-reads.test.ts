/** Reads that drip, fall silent or fail half-way: whole within the deadline, or `store_unavailable`. */
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { status } from '@grpc/grpc-js';
import type { NewEvent } from '../../../commands/values/event.ts';
import type { ScriptedRead } from '../../support/servers/scripted-node-read.ts';
import { eventually } from '../../support/suite/eventually.ts';
import { openStores } from '../../support/servers/scripted-node-stores.ts';
import { ScriptedNode } from '../../support/servers/scripted-node.ts';
import { freshStream, rejection } from './store-under-test.ts';

const fact = (n = 0): NewEvent => ({ id: randomUUID(), type: 'ReadTested', data: { n }, metadata: {} });

const STREAM = 'read-1';

const silent = (): void => undefined;

describe('reads from a misbehaving node', () => {
  const stores = openStores();
  let node: ScriptedNode;

  beforeEach(async () => {
    node = await ScriptedNode.start();
    const store = stores.open({ url: node.url });
    await store.append(STREAM, 'no-stream', [fact(0), fact(1), fact(2)]);
  });

  afterEach(async () => {
    await stores.close();
    node.stop();
  });

  /** Sends the first event every 50 ms until the call is gone. */
  const drip = (read: ScriptedRead): void => {
    const [event] = node.log.events;
    const timer = setInterval(() => {
      if (event) read.event(event);
    }, 50);
    for (const ending of ['cancelled', 'close']) {
      read.call.once(ending, () => {
        clearInterval(timer);
      });
    }
  };

  it('end at the deadline when events arrive slowly', async () => {
    const store = stores.open({ url: node.url, readTimeoutMs: 500 });
    node.reads.always(drip);
    for (const read of [
      () => store.readStream(STREAM),
      () => store.readLast(STREAM),
      () => store.readAll(null, 10),
      () => store.headPosition(),
    ]) {
      const startedAt = performance.now();
      expect(await rejection(read())).to.have.property('code', 'store_unavailable');
      expect(performance.now() - startedAt).to.be.within(450, 8_000);
    }
  });

  it('return all events when a connection falls silent and another one answers', async () => {
    const store = stores.open({ url: node.url, readSilenceMs: 500 });
    const [event] = node.log.events;
    node.reads.once(silent, (read) => {
      if (event) read.event(event);
    });
    const startedAt = performance.now();
    expect((await store.readStream(STREAM)).map(({ data }) => data['n'])).to.deep.equal([0, 1, 2]);
    expect(performance.now() - startedAt).to.be.below(5_000);
    expect(node.reads.calls).to.have.length(3);
    expect(new Set(node.reads.calls.map(({ peer }) => peer)).size).to.equal(3);
  });

  it('return all events when the call fails in the middle', async () => {
    const store = stores.open({ url: node.url });
    const [event] = node.log.events;
    for (const [code, details] of [
      [status.UNAVAILABLE, 'Connection dropped'],
      [status.INTERNAL, 'Received RST_STREAM with code 0 (Call ended without gRPC status)'],
      [status.CANCELLED, 'Cancelled'],
      [status.UNKNOWN, 'Exception was thrown by handler.'],
    ] as const) {
      node.reads.once((read) => {
        if (event) read.event(event);
        read.fail(code, details);
      });
      expect(await store.readStream(STREAM), details).to.have.length(3);
    }
  });

  it('end with store_unavailable and no events when the store is closed', async () => {
    const store = stores.open({ url: node.url });
    const [event] = node.log.events;
    node.reads.once((read) => {
      if (event) read.event(event);
    });
    const read = rejection(store.readStream(STREAM));
    await eventually(() => node.reads.calls.length === 1);
    await store.close();
    expect(await read).to.have.property('code', 'store_unavailable');
  });

  it('wait in a queue when the server would reach its limit, and all complete', async () => {
    const store = stores.open({ url: node.url });
    const waiting: ScriptedRead[] = [];
    node.reads.always((read) => {
      waiting.push(read);
    });
    const reads = Array.from({ length: 200 }, () => store.readStream(STREAM));
    await eventually(() => waiting.length === 80);
    await store.append(freshStream(), 'no-stream', [fact()]);
    expect(waiting).to.have.length(80);
    node.reads.always((read) => {
      read.answer();
    });
    for (const read of waiting) read.answer();
    for (const events of await Promise.all(reads)) expect(events).to.have.length(3);
  });

  it('log an error and answer store_unavailable when the node denies access', async () => {
    const store = stores.open({ url: node.url });
    node.reads.once((read) => {
      read.fail(status.PERMISSION_DENIED, 'Access Denied', { exception: 'access-denied' });
    });
    const startedAt = performance.now();
    expect(await rejection(store.headPosition())).to.include({
      code: 'store_unavailable',
      retryAfterSeconds: 2,
    });
    expect(performance.now() - startedAt).to.be.below(8_000);
    expect(stores.lines('error')[0]).to.match(/read \$all/);
  });

  it('are refused at once when the position is no event of the log', async () => {
    const store = stores.open({ url: node.url });
    node.reads.once((read) => {
      read.fail(status.UNKNOWN, 'Unexpected ReadAllResult: InvalidPosition');
    });
    expect(await rejection(store.readAll(734n, 1))).to.have.property('type', 'unknown');
    expect(node.reads.calls).to.have.length(1);
  });

  it('return no events when the stream was permanently deleted', async () => {
    const store = stores.open({ url: node.url });
    node.reads.once((read) => {
      read.fail(status.FAILED_PRECONDITION, `Event stream '${STREAM}' is deleted.`, {
        exception: 'stream-deleted',
        'stream-name': STREAM,
      });
    });
    expect(await store.readStream(STREAM)).to.deep.equal([]);
  });
});
