/** The probe before the first append, whose failure or silence the client would keep for ever. */
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { status } from '@grpc/grpc-js';
import type { NewEvent } from '../../../commands/values/event.ts';
import { callError } from '../../../infra/event-store/node/call-errors.ts';
import { supportedMethods } from '../../../infra/event-store/node/node-description.ts';
import { eventually } from '../../support/suite/eventually.ts';
import { openStores } from '../../support/servers/scripted-node-stores.ts';
import { ScriptedNode } from '../../support/servers/scripted-node.ts';
import type { FeatureProbe } from '../../support/servers/scripted-node.ts';
import { rejection } from './store-under-test.ts';

const fact = (n = 0): NewEvent => ({ id: randomUUID(), type: 'ProbeTested', data: { n }, metadata: {} });

const failing =
  (...error: Parameters<typeof callError>) =>
  (reply: FeatureProbe): void => {
    reply(callError(...error));
  };

describe('the feature probe of a misbehaving node', () => {
  const stores = openStores();
  let node: ScriptedNode;

  beforeEach(async () => {
    node = await ScriptedNode.start();
  });

  afterEach(async () => {
    await stores.close();
    node.stop();
  });

  it('fails without effect: the append succeeds when the node is healthy again', async () => {
    const store = stores.open({ url: node.url });
    node.probes.once(
      failing(status.UNAUTHENTICATED, 'Unauthenticated'),
      failing(status.INTERNAL, 'oops'),
      failing(status.UNAVAILABLE, 'Server Is Not Ready'),
      failing(status.UNKNOWN, 'Exception was thrown by handler.'),
    );
    expect((await store.append('probe-1', 'no-stream', [fact(1)])).revision).to.equal(0n);
    expect(node.probes.calls).to.have.length(5);
    expect(node.log.numbers('probe-1')).to.deep.equal([1]);
    expect(stores.lines('error')).to.have.length(1);
    expect(stores.lines('error')[0]).to.match(/check user and password in EVENTSTORE_URL/);
  });

  it('holds no append when it gets no answer, and sends no expired append afterwards', async () => {
    const store = stores.open({ url: node.url, appendTryTimeoutMs: 150, appendTimeoutMs: 400 });
    const held: FeatureProbe[] = [];
    node.probes.always((reply) => held.push(reply));
    expect(await rejection(store.append('probe-2', 'no-stream', [fact(1)]))).to.have.property(
      'code',
      'store_unavailable',
    );
    expect(held).to.have.length.above(1);
    node.probes.always((reply) => {
      reply(null, supportedMethods(true));
    });
    for (const reply of held) reply(null, supportedMethods(true));
    expect((await store.append('probe-2', 'no-stream', [fact(2)])).revision).to.equal(0n);
    await store.readStream('probe-2');
    expect(node.log.numbers('probe-2')).to.deep.equal([2]);
    expect(node.appends.calls).to.have.length(1);
  });

  it('makes each append a separate call when the answer does not name BatchAppend', async () => {
    const store = stores.open({ url: node.url });
    node.probes.once(failing(status.UNIMPLEMENTED, 'Service is unimplemented.'));
    await store.append('probe-3', 'no-stream', [fact(1)]);
    await eventually(() => node.log.stream('probe-3').length === 1);
    expect(node.sharedCalls).to.have.length(0);
  });
});
