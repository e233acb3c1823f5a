/** A node that is silent, late, contradicts itself or breaks off in the middle of appends: each is written once and answered. */
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { status } from '@grpc/grpc-js';
import { WrongExpectedRevision } from '../../../commands/ports/event-store.ts';
import type { NewEvent } from '../../../commands/values/event.ts';
import type { ScriptedAppend } from '../../support/servers/scripted-node-append.ts';
import { eventually } from '../../support/suite/eventually.ts';
import { openStores } from '../../support/servers/scripted-node-stores.ts';
import { ScriptedNode } from '../../support/servers/scripted-node.ts';
import { freshStream, rejection } from './store-under-test.ts';

const fact = (n = 0): NewEvent => ({ id: randomUUID(), type: 'AppendTested', data: { n }, metadata: {} });

const silent = (): void => undefined;

for (const batchAppend of [true, false]) {
  describe(`appends to a misbehaving node (${batchAppend ? 'batch' : 'unary'})`, () => {
    const stores = openStores();
    let node: ScriptedNode;

    beforeEach(async () => {
      node = await ScriptedNode.start({ batchAppend });
    });

    afterEach(async () => {
      await stores.close();
      node.stop();
    });

    const ids = (): string[] => node.appends.calls.map((append) => append.ids);

    it('resend the identical append when the node is silent', async () => {
      const store = stores.open({ url: node.url, appendTryTimeoutMs: 600 });
      node.appends.once(silent, silent);
      expect((await store.append('quiet-1', 'no-stream', [fact(1), fact(2)])).revision).to.equal(1n);
      expect(ids()).to.have.length(3);
      expect(new Set(ids()).size).to.equal(1);
      expect(node.appends.calls.map(({ expected }) => expected)).to.deep.equal([-1, -1, -1]);
      expect(node.log.numbers('quiet-1')).to.deep.equal([1, 2]);
    });

    it('wait for the whole deadline of the append when the clock of the node is ahead', async () => {
      const store = stores.open({ url: node.url, appendTryTimeoutMs: 600, appendTimeoutMs: 8_000 });
      const startedAt = Date.now();
      await store.append(freshStream(), 'no-stream', [fact()]);
      const deadline = Number(node.appends.calls[0]?.deadline ?? 0);
      expect(deadline - startedAt).to.be.within(7_000, 8_000 + Date.now() - startedAt);
    });

    it('answer store_unavailable with a time to retry when the node stays silent', async () => {
      const store = stores.open({ url: node.url, appendTryTimeoutMs: 100, appendTimeoutMs: 400 });
      node.appends.always(silent);
      const startedAt = performance.now();
      const error = await rejection(store.append(freshStream(), 'no-stream', [fact()]));
      expect(error).to.include({ code: 'store_unavailable', retryAfterSeconds: 2 });
      expect(performance.now() - startedAt).to.be.within(390, 8_000);
    });

    it('ignore an answer that arrives after the deadline and continue', async () => {
      const store = stores.open({ url: node.url, appendTryTimeoutMs: 150, appendTimeoutMs: 300 });
      const late: ScriptedAppend[] = [];
      node.appends.always((append) => {
        node.writeSilently(append);
        late.push(append);
      });
      const events = [fact(1)];
      await rejection(store.append('late-1', 'no-stream', events));
      for (const append of late) append.tell({ revision: 0, position: 733 });
      node.appends.always((append) => {
        node.write(append);
      });
      expect((await store.append('late-1', 'no-stream', events)).revision).to.equal(0n);
      expect((await store.append('late-1', 0n, [fact(2)])).revision).to.equal(1n);
      expect(node.log.numbers('late-1')).to.deep.equal([1, 2]);
    });

    it('report success of the first attempt when other writers appended since', async () => {
      const store = stores.open({ url: node.url, appendTryTimeoutMs: 600 });
      const other = stores.open({ url: node.url });
      await store.append('shared-1', 'no-stream', [fact(0)]);
      node.appends.once((append) => {
        node.writeSilently(append);
      });
      const append = store.append('shared-1', 0n, [fact(1)]);
      await eventually(() => node.log.stream('shared-1').length === 2);
      await other.append('shared-1', 1n, [fact(2)]);
      expect(await append).to.deep.equal({
        revision: 1n,
        position: BigInt(node.log.events[1]?.position ?? 0),
      });
      expect(node.log.numbers('shared-1')).to.deep.equal([0, 1, 2]);
    });

    it('retry when the node is not ready, aborts or is exhausted', async () => {
      const store = stores.open({ url: node.url });
      node.appends.once(
        (append) => {
          append.refuse({ code: 'OK', message: 'Server Is Not Ready' });
        },
        (append) => {
          append.fail(status.UNAVAILABLE, 'Server Is Not Ready');
        },
        (append) => {
          append.fail(status.ABORTED, 'Operation timed out: Request canceled by server');
        },
        (append) => {
          append.fail(
            status.RESOURCE_EXHAUSTED,
            'Received message exceeds the maximum configured message size.',
          );
        },
        (append) => {
          append.fail(status.CANCELLED, 'Cancelled');
        },
        (append) => {
          append.fail(status.INTERNAL, 'Received RST_STREAM with code 0 (Call ended without gRPC status)');
        },
      );
      expect((await store.append('busy-1', 'no-stream', [fact(1)])).revision).to.equal(0n);
      expect(node.appends.calls).to.have.length(7);
    });

    it('retry when the server exceeded its own deadline', async () => {
      const store = stores.open({ url: node.url });
      const detail = 'event_store.client.Timeout';
      node.appends.once((append) => {
        append.refuse({ code: 'DEADLINE_EXCEEDED', message: 'Timeout', detail });
      });
      expect((await store.append('slow-1', 'no-stream', [fact(1)])).revision).to.equal(0n);
    });

    it('fail at once and send once when the request itself is refused', async () => {
      const store = stores.open({ url: node.url });
      const refusals = [
        ['MaximumAppendEventSizeExceeded', 'INVALID_ARGUMENT'],
        ['BadRequest', 'INVALID_ARGUMENT'],
        ['SomethingNewer', 'INVALID_ARGUMENT'],
      ] as const;
      for (const [message, code] of refusals) {
        node.appends.once((append) => {
          append.refuse({ code, message, detail: `event_store.client.${message}` });
        });
        const startedAt = performance.now();
        const error = await rejection(store.append(freshStream(), 'no-stream', [fact()]));
        expect(error, message).to.have.property('type', 'unknown');
        expect(performance.now() - startedAt, message).to.be.below(8_000);
      }
      expect(node.appends.calls).to.have.length(refusals.length);
    });

    it('report the revision of the stream, or that the node did not report it', async () => {
      const store = stores.open({ url: node.url });
      await store.append('place-1', 'no-stream', [fact(), fact()]);
      const outcomes: unknown[] = [];
      const attempts = [
        ['place-1', 0n],
        ['place-2', 3n],
      ] as const;
      for (const [stream, expected] of attempts) {
        const error = await rejection(store.append(stream, expected, [fact()]), WrongExpectedRevision);
        outcomes.push(error.actual);
      }
      // The node says that the stream is missing to somebody who expects just that.
      node.appends.once((append) => {
        append.tell({ actual: -1 });
      });
      const error = await rejection(store.append('place-3', 'no-stream', [fact()]), WrongExpectedRevision);
      expect([...outcomes, error.actual]).to.deep.equal([1n, 'no-stream', null]);
    });

    it('wait for the end of the log when the answer names no position', async () => {
      const store = stores.open({ url: node.url });
      const { position } = await store.append('placeless-1', 'no-stream', [fact()]);
      node.appends.once((append) => {
        append.tell({ revision: 0, position: 0, withoutPosition: true });
      });
      expect(await store.append('placeless-1', 'no-stream', [fact()])).to.deep.equal({
        revision: 0n,
        position,
      });
    });

    it('log an error and answer store_unavailable when the node denies access', async () => {
      const store = stores.open({ url: node.url });
      const denial = { exception: 'access-denied' };
      const denials = [
        (append: ScriptedAppend) => {
          append.fail(status.PERMISSION_DENIED, 'Access Denied', denial);
        },
        (append: ScriptedAppend) => {
          append.fail(status.UNAUTHENTICATED, 'Unauthenticated');
        },
      ];
      for (const deny of denials) {
        node.appends.once(deny);
        const startedAt = performance.now();
        const error = await rejection(store.append(freshStream(), 'no-stream', [fact()]));
        expect(error).to.have.property('code', 'store_unavailable');
        expect(performance.now() - startedAt).to.be.below(8_000);
        expect(stores.lines('error').at(-1)).to.match(/event store: access denied .*check user and password/);
      }
    });

    it('use a connection separate from reads with at most as many calls as a server allows', async () => {
      const store = stores.open({ url: node.url });
      const waiting: ScriptedAppend[] = [];
      node.appends.always((append) => {
        waiting.push(append);
      });
      const appends = Array.from({ length: 200 }, () => store.append(freshStream(), 'no-stream', [fact()]));
      await eventually(() => waiting.length === 80);
      expect(await store.readStream(freshStream())).to.deep.equal([]);
      expect(waiting).to.have.length(80);
      node.appends.always((append) => {
        node.write(append);
      });
      for (const append of waiting) node.write(append);
      for (const { revision } of await Promise.all(appends)) expect(revision).to.equal(0n);
    });
  });
}
