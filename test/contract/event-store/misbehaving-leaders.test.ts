/** Nodes that are no leader, or no longer: calls find the leader, and the first node again when that one dies. */
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { status } from '@grpc/grpc-js';
import type { NewEvent } from '../../../commands/values/event.ts';
import { openStores } from '../../support/servers/scripted-node-stores.ts';
import { ScriptedNode } from '../../support/servers/scripted-node.ts';

const fact = (n = 0): NewEvent => ({ id: randomUUID(), type: 'LeaderTested', data: { n }, metadata: {} });

interface Failing {
  fail(code: status, details: string, trailers?: Record<string, string>): void;
}

const pointTo =
  (leader: ScriptedNode) =>
  (call: Failing): void => {
    call.fail(status.NOT_FOUND, 'Leader info available', {
      exception: 'not-leader',
      'leader-endpoint-host': '127.0.0.1',
      'leader-endpoint-port': String(leader.port),
    });
  };

for (const batchAppend of [true, false]) {
  describe(`nodes that are no leader (${batchAppend ? 'batch' : 'unary'})`, () => {
    const stores = openStores();
    let [first, second]: ScriptedNode[] = [];

    const both = (): readonly [ScriptedNode, ScriptedNode] => {
      if (!first || !second) throw new Error('the nodes are not up');
      return [first, second];
    };

    beforeEach(async () => {
      first = await ScriptedNode.start({ batchAppend });
      second = await ScriptedNode.start({ batchAppend });
    });

    afterEach(async () => {
      await stores.close();
      for (const node of both()) node.stop();
    });

    it('forward appends and reads to the leader', async () => {
      const [follower, leader] = both();
      const store = stores.open({ url: follower.url });
      follower.appends.always(pointTo(leader));
      follower.reads.always(pointTo(leader));
      expect((await store.append('led-1', 'no-stream', [fact(1)])).revision).to.equal(0n);
      expect((await store.append('led-1', 0n, [fact(2)])).revision).to.equal(1n);
      expect((await store.readStream('led-1')).map(({ data }) => data['n'])).to.deep.equal([1, 2]);
      expect((await store.readLast('led-1'))?.revision).to.equal(1n);
      expect(leader.log.numbers('led-1')).to.deep.equal([1, 2]);
      // Redirected once each; after that they stay with the leader.
      const reads = [...follower.reads.calls, ...follower.looks.calls];
      expect([follower.appends.calls.length, reads.length]).to.deep.equal([1, 1]);
    });

    it('receive the header that requires a leader when a decision depends on the answer', async () => {
      const [node] = both();
      const store = stores.open({ url: node.url });
      await store.append('led-0', 'no-stream', [fact(1)]);
      await store.readStream('led-0');
      await store.readLast('led-0');
      await store.headPosition();
      const asked = node.reads.calls.map(({ call }) => call.metadata.get('requires-leader')[0]);
      expect(asked).to.deep.equal(['true', 'true', 'true']);
    });

    it('are asked again when the leader they named is dead', async () => {
      const [returning, dead] = both();
      const store = stores.open({ url: returning.url });
      dead.stop();
      const redirect = pointTo(dead);
      returning.appends.once(redirect, redirect, redirect);
      returning.reads.once(redirect, redirect, redirect);
      expect((await store.append('led-2', 'no-stream', [fact(1)])).revision).to.equal(0n);
      expect(await store.readStream('led-2')).to.have.length(1);
      expect(returning.log.numbers('led-2')).to.deep.equal([1]);
    });

    it('take over when the leader dies', async () => {
      const [heir, leader] = both();
      const store = stores.open({ url: heir.url });
      heir.appends.once(pointTo(leader));
      heir.reads.once(pointTo(leader));
      await store.append('led-3', 'no-stream', [fact(1)]);
      expect(await store.readStream('led-3')).to.have.length(1);
      for (const { stream, expected, events } of leader.appends.calls)
        heir.log.write(stream, expected, events);
      leader.stop();
      expect((await store.append('led-3', 0n, [fact(2)])).revision).to.equal(1n);
      expect(await store.readStream('led-3')).to.have.length(2);
    });
  });
}
