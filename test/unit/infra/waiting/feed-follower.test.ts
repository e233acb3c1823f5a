import { expect } from 'chai';
import type { Ports } from '../../../../commands/ports/ports.ts';
import type { EventStore, SubscriptionItem } from '../../../../commands/ports/event-store.ts';
import { FeedFollower } from '../../../../infra/waiting/feed-follower.ts';
import { systemClock } from '../../../../infra/platform/system-clock.ts';
import { monitorInbox } from '../../../../read-api/waiting/monitor-inbox.ts';
import { eventually } from '../../../support/suite/eventually.ts';
import { FeedWorld, messageAt } from '../../../support/worlds/feed-world.ts';
import { silentLog } from '../../../support/fakes/silent-log.ts';
import { verifies } from '../../../support/suite/verifies.ts';

describe('FeedFollower', () => {
  let world: FeedWorld;
  let ports: Ports;
  const uids = async (input: object = {}) => {
    const reply = await world.wait(ports, monitorInbox, { timeout_seconds: 0, ...input });
    return { cursor: reply.cursor, heard: reply.items.map(({ subject }) => Number(subject)) };
  };
  const arrive = (...arrived: readonly number[]) => {
    for (const uid of arrived) world.messages.set(uid, messageAt(uid, { subject: String(uid) }));
    return world.observe(arrived.map((uid) => ({ uid })));
  };

  beforeEach(async () => {
    world = await FeedWorld.start();
    ports = await world.process();
  });
  afterEach(() => world.stop());

  it(`continues after the store was unavailable, and waiting callers miss nothing ${verifies('contract:5:no-gap-no-repeat')}`, async () => {
    const real = await world.process({ ticking: true });
    const { cursor } = await uids();
    const waiting = world.wait(real, monitorInbox, { cursor });
    await systemClock.sleep(50);
    world.gateway.events.away = true;
    await systemClock.sleep(50);
    world.gateway.events.away = false;
    await arrive(1, 2);
    expect((await waiting).items.map(({ subject }) => subject)).to.deep.equal(['1', '2']);
  });

  it(`reads earlier events than it keeps from the mailbox's own streams ${verifies('contract:5:no-gap-no-repeat')}`, async () => {
    const { cursor } = await uids();
    await arrive(1);
    world.gateway.clock.advance(26 * 3_600_000);
    await arrive(2);
    await arrive(3);
    ports = await world.process({ recentChanges: 1 });
    await arrive(4, 5);
    await arrive(6);
    await world.caughtUp(ports);
    expect((await uids({ cursor })).heard).to.deep.equal([1, 2, 3, 4, 5, 6]);
  });

  it('skips an event it cannot read, and continues', async () => {
    const { cursor } = await uids();
    const { events, ids } = world.gateway.ports;
    await arrive(1);
    const stream = world.gateway.events.all.at(-1);
    await events.append(stream?.streamName ?? '', 0n, [
      {
        id: ids.newUuid(),
        type: 'MailboxChangesObserved',
        data: { damaged: true },
        metadata: stream?.metadata ?? {},
      },
    ]);
    await arrive(2);
    await world.caughtUp(ports);
    expect((await uids({ cursor })).heard).to.deep.equal([1, 2]);
  });

  it('restarts at the end of the log when the log was replaced, and misses nothing', async () => {
    let subscriptions = 0;
    const refusal = Promise.withResolvers<never>();
    const after: (bigint | null)[] = [];
    const { events } = world.gateway;
    const replaced: EventStore = {
      append: (...args) => events.append(...args),
      readStream: (...args) => events.readStream(...args),
      readLast: (...args) => events.readLast(...args),
      readAll: (...args) => events.readAll(...args),
      headPosition: () => events.headPosition(),
      async *subscribeToAll(from, signal, filter): AsyncGenerator<SubscriptionItem> {
        subscriptions += 1;
        after.push(from);
        if (subscriptions === 1) await refusal.promise;
        yield* events.subscribeToAll(from, signal, filter);
      },
    };
    const { clock, locators } = world.gateway.ports;
    const feed = new FeedFollower({ events: replaced, clock, locators, log: silentLog });
    await feed.start();
    const began = feed.reached;
    using watch = feed.watch([world.mailboxId], new AbortController().signal);
    watch.take();
    await arrive(6);
    refusal.reject(new Error('the checkpoint lies beyond the end of the log'));
    await eventually(() => subscriptions === 2);
    expect(watch.take(), 'it may have missed something').to.equal(true);
    const missed = await feed.changesAfter(world.mailboxId, { position: began, index: null });
    expect(missed.changes.map(({ uid }) => uid)).to.deep.equal([6]);
    expect(after[1]).to.equal(await events.headPosition());
    const position = await arrive(7);
    await eventually(() => feed.reached === position);
    const { changes } = await feed.changesAfter(world.mailboxId, { position: after[1] ?? -1n, index: null });
    expect(changes.map(({ uid }) => uid)).to.deep.equal([7]);
    await feed.close();
  });

  it('reports a folder that was replaced by another of its name', async () => {
    const { clock, locators, events, ids } = world.gateway.ports;
    const feed = new FeedFollower({ events, clock, locators, log: silentLog });
    const told: string[] = [];
    feed.onFolderReset((mailboxId) => told.push(mailboxId));
    await feed.start();
    await arrive(1);
    const arrived = world.gateway.events.all.at(-1);
    await events.append(arrived?.streamName ?? '', 0n, [
      {
        id: ids.newUuid(),
        type: 'FolderReset',
        data: { mailbox_id: world.mailboxId, folder: 1, uid_validity: 9, previous_uid_validity: 8 },
        metadata: arrived?.metadata ?? {},
      },
    ]);
    await eventually(() => told.length > 0);
    expect(told).to.deep.equal([world.mailboxId]);
    await feed.close();
  });
});
