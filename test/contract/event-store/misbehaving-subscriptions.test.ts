/** Subscriptions that end, fall silent, repeat themselves or lie about their place: every event once and in order. */
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { status } from '@grpc/grpc-js';
import type { SubscriptionItem } from '../../../commands/ports/event-store.ts';
import type { NewEvent } from '../../../commands/values/event.ts';
import type { Position } from '../../../commands/values/position.ts';
import type { ConnectedEventStore } from '../../../infra/event-store/event-store-client.ts';
import { CheckpointNotInLog } from '../../../infra/event-store/follow-all.ts';
import type { ScriptedRead } from '../../support/servers/scripted-node-read.ts';
import { systemClock } from '../../../infra/platform/system-clock.ts';
import { eventually } from '../../support/suite/eventually.ts';
import { openStores } from '../../support/servers/scripted-node-stores.ts';
import { ScriptedNode } from '../../support/servers/scripted-node.ts';
import { verifies } from '../../support/suite/verifies.ts';
import { freshStream, rejection } from './store-under-test.ts';

const fact = (n = 0): NewEvent => ({ id: randomUUID(), type: 'FollowTested', data: { n }, metadata: {} });

const STREAM = 'followed-1';

describe('subscriptions to a misbehaving node', () => {
  const stores = openStores();
  let node: ScriptedNode;
  let store: ConnectedEventStore;
  let end: AbortController;

  beforeEach(async () => {
    node = await ScriptedNode.start();
    end = new AbortController();
    store = stores.open({ url: node.url, confirmTimeoutMs: 300 });
    await store.append(STREAM, 'no-stream', [fact(0), fact(1), fact(2), fact(3)]);
  });

  afterEach(async () => {
    end.abort();
    await stores.close();
    node.stop();
  });

  const send = (read: ScriptedRead, ...numbers: number[]): void => {
    for (const n of numbers) {
      const event = node.log.events[n];
      if (event) read.event(event);
    }
  };

  const subscriptions = (): ScriptedRead[] => node.reads.calls.filter(({ isSubscription }) => isSubscription);

  /** Follows from the start until the event `n` came, at most three seconds. */
  const followUntil = async (n: number, items: SubscriptionItem[] = []): Promise<unknown[]> => {
    const signal = AbortSignal.any([end.signal, AbortSignal.timeout(3_000)]);
    for await (const item of store.subscribeToAll(null, signal)) {
      items.push(item);
      if (item.kind === 'event' && item.event.data['n'] === n) break;
    }
    return items.flatMap((item) => (item.kind === 'event' ? [item.event.data['n']] : []));
  };

  const places = (items: readonly SubscriptionItem[]): Position[] =>
    items.flatMap((item) => (item.kind === 'checkpoint' ? [item.position] : []));

  const endings: Record<string, (read: ScriptedRead) => void> = {
    'lost server': (read) => {
      read.fail(status.UNAVAILABLE, 'Connection dropped');
    },
    'reset stream': (read) => {
      read.fail(
        status.UNKNOWN,
        '13 INTERNAL: Received RST_STREAM with code 0 (Call ended without gRPC status)',
      );
    },
    'server that cancels': (read) => {
      read.fail(status.CANCELLED, 'Cancelled');
    },
    'leader that is none': (read) => {
      read.fail(status.NOT_FOUND, 'Leader info available', {
        exception: 'not-leader',
        'leader-endpoint-host': '127.0.0.1',
        'leader-endpoint-port': String(node.port),
      });
    },
    'normal end': (read) => {
      read.call.end();
    },
    denial: (read) => {
      read.fail(status.PERMISSION_DENIED, 'Access Denied', { exception: 'access-denied' });
    },
  };

  for (const [name, finish] of Object.entries(endings)) {
    it(`resume behind the last delivered event after a ${name}`, async () => {
      node.reads.once(
        (read) => {
          read.confirm();
          send(read, 0, 1);
          finish(read);
        },
        finish, // before it is confirmed
        (read) => {
          read.answer();
        },
      );
      expect(await followUntil(3)).to.deep.equal([0, 1, 2, 3]);
      const last = subscriptions().at(-1);
      const handedOut = node.log.events.slice(0, 2).map(({ position }) => position);
      expect([-1, ...handedOut]).to.include(last?.from);
    });
  }

  it('resume behind the last handled event when the call fails under a slow consumer', async () => {
    let hasFailed = false;
    node.reads.once((read) => {
      read.confirm();
      send(read, 0, 1);
      read.call.once('close', () => {
        hasFailed = true;
      });
      read.fail(status.UNAVAILABLE, 'Connection dropped');
    });
    const seen: unknown[] = [];
    for await (const item of store.subscribeToAll(null, end.signal)) {
      if (item.kind !== 'event') continue;
      seen.push(item.event.data['n']);
      if (seen.length === 1) {
        await eventually(() => hasFailed);
        expect(subscriptions()).to.have.length(1);
      }
      if (seen.length === 4) break;
    }
    expect(seen).to.deep.equal([0, 1, 2, 3]);
    expect(subscriptions()).to.have.length(2);
  });

  it('deliver no event twice when events repeat or change order', async () => {
    node.reads.once(
      (read) => {
        read.confirm();
        send(read, 0, 0, 1, 0, 1);
        read.fail(status.UNAVAILABLE, 'Connection dropped');
      },
      (read) => {
        read.confirm();
        send(read, 0, 1, 2, 1, 2, 3);
      },
    );
    expect(await followUntil(3)).to.deep.equal([0, 1, 2, 3]);
    expect(stores.lines('warn').some((line) => line.startsWith('subscription: repeated event'))).to.equal(
      true,
    );
  });

  it('are opened again when they are not confirmed', async () => {
    node.reads.once(() => undefined);
    expect(await followUntil(3)).to.deep.equal([0, 1, 2, 3]);
    expect(subscriptions()).to.have.length(2);
    expect(new Set(subscriptions().map(({ peer }) => peer)).size).to.equal(2);
  });

  it('deliver events as they arrive when they arrive slowly', async () => {
    node.reads.once((read) => {
      read.confirm();
      for (const n of [0, 1, 2, 3]) setTimeout(send, 150 * n, read, n);
    });
    expect(await followUntil(3)).to.deep.equal([0, 1, 2, 3]);
    expect(subscriptions()).to.have.length(1);
  });

  it('ignore a checkpoint when it is before every event or behind a delivered event', async () => {
    const [first, second] = node.log.events;
    const items: SubscriptionItem[] = [];
    node.reads.once((read) => {
      read.confirm();
      read.checkpoint(0, 0);
      send(read, 0, 1);
      read.checkpoint(second?.position ?? 0);
      read.checkpoint(first?.position ?? 0);
      read.caughtUp();
      setTimeout(send, 100, read, 2, 3);
    });
    expect(await followUntil(3, items)).to.deep.equal([0, 1, 2, 3]);
    expect(places(items)).to.deep.equal([]);
  });

  it(`ignore the checkpoint 2^64 - 1 when a catch-up found nothing ${verifies('contract:20:no-such-position')}`, async () => {
    const items: SubscriptionItem[] = [];
    node.reads.once((read) => {
      read.confirm();
      read.checkpoint(2n ** 64n - 1n);
      read.caughtUp();
      setTimeout(send, 100, read, 0, 1, 2, 3);
    });
    expect(await followUntil(3, items)).to.deep.equal([0, 1, 2, 3]);
    expect(places(items)).to.deep.equal([]);
    expect(store.trouble).to.equal(null);
  });

  it(`resume with the event beside the checkpoint when both have one position ${verifies('contract:20:checkpoint-beside-event')}`, async () => {
    const third = node.log.events[2]?.position ?? 0;
    const items: SubscriptionItem[] = [];
    node.reads.once((read) => {
      read.confirm();
      read.checkpoint(third, 0);
      setTimeout(() => {
        read.fail(status.UNAVAILABLE, 'Connection dropped');
      }, 100);
    });
    expect(await followUntil(3, items)).to.deep.equal([2, 3]);
    expect(subscriptions().map(({ from, prepare }) => [from, prepare])).to.deep.equal([
      [-1, -1],
      [third, 0],
    ]);
    // One number would not lead back there, so nobody else is told.
    expect(places(items)).to.deep.equal([]);
  });

  it('mark the store as untrusted while only old events arrive, and as trusted when a new one does', async () => {
    const items = store.subscribeToAll(BigInt(node.log.events[2]?.position ?? 0), end.signal);
    let read: ScriptedRead | undefined;
    node.reads.once(
      (look) => {
        look.answer();
      },
      (subscription) => {
        read = subscription;
        subscription.confirm();
        send(subscription, ...Array.from({ length: 10 }, (_unused, n) => n % 3));
      },
    );
    const next = items[Symbol.asyncIterator]().next();
    await eventually(() => store.trouble !== null);
    expect(stores.lines('error')).to.have.length(1);
    expect(stores.lines('error')[0]).to.match(/subscription: only old events arrive/);
    if (read) send(read, 3);
    expect(await next).to.have.nested.property('value.event.data.n', 3);
    expect(store.trouble).to.equal(null);
  });

  it('hold a checkpoint back until a slow consumer has had every earlier event', async () => {
    const checkpoint = (node.log.events[3]?.position ?? 0) + 50;
    node.reads.once((read) => {
      read.confirm();
      send(read, 0, 1, 2, 3);
      read.checkpoint(checkpoint);
      read.caughtUp();
    });
    const said: unknown[] = [];
    for await (const item of store.subscribeToAll(null, end.signal)) {
      said.push(item.kind === 'event' ? item.event.data['n'] : item.kind);
      if (item.kind === 'caught-up') break;
      // Slower than the answer, which is here as a whole while the first event is handled.
      await systemClock.sleep(50);
    }
    expect(said).to.deep.equal([0, 1, 2, 3, 'checkpoint', 'caught-up']);
  });

  it('refuse to resume when the position is no event of the log', async () => {
    node.reads.once(
      (read) => {
        read.answer();
      },
      (read) => {
        read.confirm();
        read.fail(status.INVALID_ARGUMENT, 'Trying to read from an invalid position.');
      },
    );
    const following = (async () => {
      for await (const item of store.subscribeToAll(734n, end.signal)) if (item.kind === 'event') return;
    })();
    expect(await rejection(following)).to.be.instanceOf(CheckpointNotInLog);
  });

  it('log an error when the node denies access', async () => {
    node.reads.once((read) => {
      read.fail(status.PERMISSION_DENIED, 'Access Denied', { exception: 'access-denied' });
    });
    await followUntil(3);
    expect(stores.lines('error')[0]).to.match(/event store: access denied .*check user and password/);
  });

  it('share one call on the node among all followers, on a connection separate from appends and reads', async () => {
    const patient = stores.open({ url: node.url });
    node.reads.always((read) => {
      if (!read.isSubscription) read.answer();
    });
    const prefixes = [undefined, { streamPrefixes: ['followed-'] }, { streamPrefixes: ['other-'] }];
    const begun = Array.from({ length: 120 }, async (_unused, n) => {
      const seen: unknown[] = [];
      for await (const item of patient.subscribeToAll(null, end.signal, prefixes[n % 3])) {
        if (item.kind === 'event') seen.push(item.event.data['n']);
        if (item.kind === 'caught-up') return seen;
      }
      throw new Error('the subscription ended');
    });
    // All but the first, whose subscription is not confirmed yet: they have read the log.
    const [first, ...others] = begun;
    const crowd = await Promise.all(others);
    for (const [n, seen] of crowd.entries())
      expect(seen).to.deep.equal((n + 1) % 3 === 2 ? [] : [0, 1, 2, 3]);
    expect(subscriptions()).to.have.length(1);
    await patient.append(freshStream(), 'no-stream', [fact()]);
    await patient.readStream(STREAM);
    const peers = [
      node.sharedCalls.at(-1)?.getPeer(),
      node.reads.calls.at(-1)?.peer,
      subscriptions()[0]?.peer,
    ];
    expect(new Set(peers).size).to.equal(3);
    const [read] = subscriptions();
    read?.confirm();
    if (read) send(read, 0, 1, 2, 3);
    read?.caughtUp();
    expect(await first).to.deep.equal([0, 1, 2, 3]);
  });

  it('leave no call open on the node when their consumer ends', async () => {
    const open = new Set<ScriptedRead>();
    node.reads.always((read) => {
      open.add(read);
      read.call.once('cancelled', () => open.delete(read));
      read.answer();
    });
    await followUntil(3);
    await eventually(() => open.size === 0);
    const waiting = followUntil(99);
    await eventually(() => open.size === 1);
    end.abort();
    await waiting;
    await eventually(() => open.size === 0);
  });
});
