/** The one call all appends share, when a node answers too much on it or breaks it off. */
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { status } from '@grpc/grpc-js';
import shared from '@eventstore/db-client/generated/shared_pb.js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import type { NewEvent } from '../../../commands/values/event.ts';
import { systemClock } from '../../../infra/platform/system-clock.ts';
import type { ScriptedAppend } from '../../support/servers/scripted-node-append.ts';
import { eventually } from '../../support/suite/eventually.ts';
import { openStores } from '../../support/servers/scripted-node-stores.ts';
import { ScriptedNode } from '../../support/servers/scripted-node.ts';
import { freezableProxy } from './freezable-proxy.ts';
import { freshStream } from './store-under-test.ts';

const fact = (n = 0): NewEvent => ({ id: randomUUID(), type: 'SharedCallTested', data: { n }, metadata: {} });

describe('the shared append call of a misbehaving node', () => {
  const stores = openStores();
  let node: ScriptedNode;

  beforeEach(async () => {
    node = await ScriptedNode.start();
  });

  afterEach(async () => {
    await stores.close();
    node.stop();
  });

  it('survives a second answer to one append and an answer to none', async () => {
    const store = stores.open({ url: node.url });
    node.appends.once((append) => {
      node.write(append);
      node.write(append);
      const stray = new shared.UUID().setString(randomUUID());
      node.sharedCalls.at(-1)?.write(new streams.BatchAppendResp().setCorrelationId(stray));
      node.sharedCalls.at(-1)?.write(new streams.BatchAppendResp());
    });
    await store.append('twice-1', 'no-stream', [fact(1)]);
    expect((await store.append('twice-1', 0n, [fact(2)])).revision).to.equal(1n);
    await eventually(() => stores.lines('warn').length === 3);
    expect(node.sharedCalls).to.have.length(1);
  });

  it('resends an append when its answer has no outcome', async () => {
    const store = stores.open({ url: node.url, appendTryTimeoutMs: 200 });
    node.appends.once((append) => {
      node.writeSilently(append);
      const { ids } = append;
      expect(ids).to.have.length(36);
      append.refuse({ code: 'UNKNOWN', message: 'who knows' });
    });
    expect((await store.append('open-1', 'no-stream', [fact(1)])).revision).to.equal(0n);
    expect(node.log.numbers('open-1')).to.deep.equal([1]);
  });

  for (const [how, breakOff] of [
    [
      'fails',
      (append: ScriptedAppend) => {
        append.fail(status.UNAVAILABLE, 'Connection dropped');
      },
    ],
    ['ends without an error', () => node.sharedCalls.at(-1)?.end()],
  ] as const) {
    it(`writes each of many appends once when it ${how} in the middle`, async () => {
      const store = stores.open({ url: node.url });
      let count = 0;
      node.appends.always((append) => {
        count += 1;
        // Every other one is written and not answered.
        if (count <= 30 && count % 2 === 0) node.writeSilently(append);
        else if (count > 30) node.write(append);
        if (count === 30) breakOff(append);
      });
      const streamNames = Array.from({ length: 60 }, () => freshStream());
      const startedAt = performance.now();
      const appends = streamNames.map((stream, n) => store.append(stream, 'no-stream', [fact(n)]));
      for (const { revision } of await Promise.all(appends)) expect(revision).to.equal(0n);
      expect(performance.now() - startedAt).to.be.below(2_500);
      for (const [n, stream] of streamNames.entries()) expect(node.log.numbers(stream)).to.deep.equal([n]);
    });
  }

  it('fails no append silently when it breaks while many wait', async () => {
    const proxy = await freezableProxy(node.port);
    const store = stores.open({ url: `esdb://127.0.0.1:${String(proxy.port)}?tls=false` });
    await store.append('waiting-1', 'no-stream', [fact()]);
    proxy.freeze('all');
    const text = 'x'.repeat(50_000);
    const large = (n: number): NewEvent => ({ ...fact(n), data: { n, text } });
    const streamNames = Array.from({ length: 60 }, () => freshStream());
    const appends = streamNames.map((stream, n) => store.append(stream, 'no-stream', [large(n)]));
    // The line takes some and then no more: the rest waits inside the client.
    await systemClock.sleep(100);
    proxy.cut();
    proxy.thaw();
    for (const { revision } of await Promise.all(appends)) expect(revision).to.equal(0n);
    for (const [n, stream] of streamNames.entries()) expect(node.log.numbers(stream)).to.deep.equal([n]);
    await proxy.close();
  });

  it('is not affected when the call of another client in the process breaks', async () => {
    const other = await ScriptedNode.start();
    const [store, neighbour] = [stores.open({ url: node.url }), stores.open({ url: other.url })];
    node.appends.once((append) => {
      node.writeSilently(append);
    });
    const append = store.append('contaminated-1', 'no-stream', [fact(1)]);
    await eventually(() => node.appends.calls.length === 1);
    other.appends.once((broken) => {
      broken.fail(status.RESOURCE_EXHAUSTED, 'Received message exceeds the maximum configured message size.');
    });
    await neighbour.append(freshStream(), 'no-stream', [fact()]);
    // The neighbour's broken call rejected this append too, and its answer comes to nobody.
    node.appends.calls[0]?.tell({ revision: 0, position: 733 });
    expect((await append).revision).to.equal(0n);
    expect(node.log.numbers('contaminated-1')).to.deep.equal([1]);
    other.stop();
  });
});
