/** The store holds another log than before: nothing is written, read or followed there, until the known one is back. */
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { status } from '@grpc/grpc-js';
import type { NewEvent } from '../../../commands/values/event.ts';
import { readinessChecks } from '../../../infra/process/gateway.ts';
import type { ConnectedEventStore } from '../../../infra/event-store/event-store-client.ts';
import { eventually } from '../../support/suite/eventually.ts';
import { ScriptedLog } from '../../support/servers/scripted-node-log.ts';
import { openStores } from '../../support/servers/scripted-node-stores.ts';
import { ScriptedNode } from '../../support/servers/scripted-node.ts';
import { verifies } from '../../support/suite/verifies.ts';
import { rejection } from './store-under-test.ts';

const fact = (n = 0): NewEvent => ({ id: randomUUID(), type: 'ReplacedTested', data: { n }, metadata: {} });

/** A log of so many events, none of them known here. */
function foreignLog(events: number): ScriptedLog {
  const log = new ScriptedLog();
  for (let n = 0; n < events; n += 1) {
    const proposed = [
      { id: randomUUID(), type: 'Foreign', data: Buffer.from(JSON.stringify({ n: 100 + n })) },
    ];
    log.write('foreign-1', n - 1, proposed);
  }
  return log;
}

const LOGS: Readonly<Record<string, () => ScriptedLog>> = {
  'is empty': () => foreignLog(0),
  'is shorter': () => foreignLog(1),
  'has grown past the last known event': () => foreignLog(9),
};

for (const batchAppend of [true, false]) {
  describe(`a log that was replaced (${batchAppend ? 'batch' : 'unary'})`, () => {
    const stores = openStores();
    let node: ScriptedNode;
    let store: ConnectedEventStore;
    let end: AbortController;

    beforeEach(async () => {
      node = await ScriptedNode.start({ batchAppend });
      end = new AbortController();
      store = stores.open({ url: node.url });
      await store.append('known-1', 'no-stream', [fact(0)]);
      await store.append('known-1', 0n, [fact(1)]);
    });

    afterEach(async () => {
      end.abort();
      await stores.close();
      node.stop();
    });

    const replaceBy = async (log: ScriptedLog): Promise<void> => {
      node.stop();
      node.log = log;
      await node.listen();
    };

    const isReady = async (): Promise<unknown> =>
      readinessChecks({ ports: { events: store }, storage: { events: store } } as never, null as never)[
        'event_store'
      ]?.();

    /** The numbers this store is told of from the start on. */
    const follow = (): unknown[] => {
      const seen: unknown[] = [];
      void (async () => {
        for await (const item of store.subscribeToAll(null, end.signal))
          if (item.kind === 'event') seen.push(item.event.data['n']);
      })();
      return seen;
    };

    for (const [what, log] of Object.entries(LOGS)) {
      it(`accepts no append when it ${what}, also from a process without subscriptions ${verifies('contract:20:another-log')}`, async () => {
        await isReady();
        const other = log();
        const before = other.events.length;
        await replaceBy(other);
        const startedAt = performance.now();
        const error = await rejection(store.append('known-2', 'no-stream', [fact(2)]));
        expect(error).to.include({ code: 'store_unavailable', name: 'LogReplaced' });
        expect(performance.now() - startedAt).to.be.below(8_000);
        expect(other.events).to.have.length(before);
        expect(await rejection(isReady())).to.match(/holds another log/);
        expect(stores.lines('error')).to.have.length(1);
        expect(stores.lines('error')[0]).to.match(/event store: replaced/);
        for (const read of [() => store.readStream('known-1'), () => store.headPosition()])
          expect(await rejection(read())).to.include({ name: 'LogReplaced' });
      });

      it(`is not followed when it ${what}, and is followed again when the known log returns`, async () => {
        const seen = follow();
        await eventually(() => seen.length === 2);
        const known = node.log;
        await replaceBy(log());
        await eventually(() => store.trouble !== null);
        expect(seen).to.deep.equal([0, 1]);
        expect(stores.lines('error')).to.have.length(1);
        await replaceBy(known);
        await eventually(() => store.trouble === null);
        await store.append('known-1', 1n, [fact(2)]);
        await eventually(() => seen.length === 3);
        expect(seen).to.deep.equal([0, 1, 2]);
      });
    }

    it('has acknowledged nothing when it was replaced between an append and its answer', async () => {
      const other = foreignLog(0);
      node.appends.once((append) => {
        // The look before the append was true; by the time it is sent again another store answers.
        node.stop();
        node.log = other;
        void node.listen();
        append.fail(status.UNAVAILABLE, 'Connection dropped');
      });
      const error = await rejection(store.append('known-3', 'no-stream', [fact(3)]));
      expect(error).to.include({ name: 'LogReplaced' });
      expect(other.events).to.deep.equal([]);
    });

    it('has acknowledged nothing when it was replaced behind the first connection for appends', async () => {
      const reader = stores.open({ url: node.url, appendTryTimeoutMs: 300 });
      await reader.headPosition();
      // The look goes over another connection and is answered by the old store; the append meets the new one.
      node.looks.once((look) => {
        look.answer();
        node.looks.once(() => undefined);
        void replaceBy(foreignLog(0));
      });
      expect(await rejection(reader.append('known-4', 'no-stream', [fact(4)]))).to.include({
        name: 'LogReplaced',
      });
    });

    it('is accepted as the same log when the connection is lost otherwise', async () => {
      const seen = follow();
      await eventually(() => seen.length === 2);
      for (let n = 2; n < 5; n += 1) {
        await replaceBy(node.log);
        await store.append('known-1', BigInt(n - 1), [fact(n)]);
      }
      await eventually(() => seen.length === 5);
      expect(stores.lines('error')).to.deep.equal([]);
      expect(store.trouble).to.equal(null);
    });
  });
}
