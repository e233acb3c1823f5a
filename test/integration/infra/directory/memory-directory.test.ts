import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { GatewayError } from '../../../../commands/values/errors.ts';
import { type DirectoryCopy, openDirectory } from '../../../../infra/directory/memory-directory.ts';
import { openDirectConnection } from '../../../../infra/postgres/direct-connection.ts';
import { rebuildModels } from '../../../../infra/projector/rebuild-read-models.ts';
import { systemClock } from '../../../../infra/platform/system-clock.ts';
import { directory } from '../../../../projections/directory-projection.ts';
import { eventually } from '../../../support/suite/eventually.ts';
import { happened } from '../../../support/samples/event-author.ts';
import { MemoryEventStore } from '../../../support/fakes/memory-event-store.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { AGENT, MAILBOX, ORG, OWNER, sampleHistory, TOKEN } from '../../../support/samples/sample-history.ts';
import { silentLog } from '../../../support/fakes/silent-log.ts';
import { openRig, personal, type Rig } from '../projector/projector-rig.ts';

describe('the directory in memory', () => {
  let rig: Rig;
  let opened: DirectoryCopy[] = [];
  beforeEach(async () => {
    rig = await openRig();
    opened = [];
  });
  afterEach(async () => {
    await Promise.all(opened.map((copy) => copy.close()));
    await rig[Symbol.asyncDispose]();
  });

  const open = async (events = rig.events): Promise<DirectoryCopy> => {
    const copy = await openDirectory({
      sql: rig.sql,
      epochSql: rig.sql,
      events,
      personal,
      clock: systemClock,
      log: silentLog,
    });
    opened.push(copy);
    return copy;
  };

  it('reads the whole log when there is no read model', async () => {
    await sampleHistory(rig.events);
    const { state } = await open();
    expect(state.people.get(OWNER)?.email).to.equal('owner@example.com');
    expect(state.mailboxes.get(MAILBOX)?.folders).to.have.length(2);
    expect(state.grantIds.get(MAILBOX)?.has(AGENT)).to.equal(true);
  });

  it('loads the same from the read model and follows from its checkpoint', async () => {
    await sampleHistory(rig.events);
    const fromLog = await open();
    const projector = await rig.start();
    await rig.settle(projector);
    await projector.close();
    await happened(rig.events, `mailbox-${MAILBOX}`, [{ type: 'MailboxPaused', data: {} }]);
    const fromRows = await open();
    await eventually(() => fromLog.state.mailboxes.get(MAILBOX)?.state === 'paused');
    expect(fromRows.state).to.deep.equal(fromLog.state);
    // Loaded rows count nothing; one event came after them.
    expect(fromRows.version).to.equal(1);
  });

  it('has a change when the wait for its position ends, and counts a version', async () => {
    await sampleHistory(rig.events);
    const copy = await open();
    const { version } = copy;
    const { position } = await happened(rig.events, `token-${TOKEN}`, [{ type: 'TokenRevoked', data: {} }]);
    await copy.waitFor(position);
    expect(copy.state.tokens.get(TOKEN)?.revokedAt).to.be.a('string');
    expect(copy.version).to.equal(version + 1);
    expect(copy.isCurrent).to.equal(true);
  });

  it('ends the wait after a second when the change does not arrive', async () => {
    const copy = await open();
    expect(await rejection(copy.waitFor(1_000_000n))).to.have.property('code', 'store_unavailable');
  });

  it('closes every other process to the old state when it has not received the change', async () => {
    const head = await sampleHistory(rig.events).then(() => rig.events.headPosition());
    const other = await open();
    const behind = await open(new MemoryEventStore());
    expect(await rejection(behind.waitFor(head + 1n))).to.have.property('code', 'store_unavailable');
    await eventually(() => !other.isCurrent);
  });

  it('is stale when it has not received a change that another process answered', async () => {
    await sampleHistory(rig.events);
    const behind = new MemoryEventStore();
    const slow = await open(behind);
    expect(slow.isCurrent).to.equal(true);
    const quick = await open();
    await quick.waitFor(await rig.events.headPosition().then((head) => head - 64n * 12n));
    await eventually(() => !slow.isCurrent);
    expect(quick.isCurrent).to.equal(true);
    for (const { id, type, data, metadata, ...place } of rig.events.all)
      await behind.append(place.streamName, revisionBefore(place), [{ id, type, data, metadata }]);
    await eventually(() => slow.isCurrent);
  });

  it('is stale when the database has not answered for a second', async () => {
    const copy = await open();
    await rig.sql.query('alter table work.authz_epoch rename to hidden');
    await eventually(() => !copy.isCurrent);
    expect(copy.ageMs).to.be.greaterThan(900);
    await rig.sql.query('alter table work.hidden rename to authz_epoch');
    await eventually(() => copy.isCurrent);
  });

  it('becomes current soon after the process was busy, and gives up after a second', async () => {
    const copy = await open();
    stall(1_100);
    expect(copy.isCurrent).to.equal(false);
    const askedAt = performance.now();
    expect(await copy.untilCurrent()).to.equal(true);
    expect(performance.now() - askedAt).to.be.below(900);
    await rig.sql.query('alter table work.authz_epoch rename to hidden');
    stall(1_100);
    expect(await copy.untilCurrent()).to.equal(false);
    await rig.sql.query('alter table work.hidden rename to authz_epoch');
    expect(await copy.untilCurrent()).to.equal(true);
  });

  it('becomes current when a change that another process answered arrives', async () => {
    await sampleHistory(rig.events);
    const behind = new MemoryEventStore();
    const slow = await open(behind);
    const quick = await open();
    await quick.waitFor(await rig.events.headPosition().then((head) => head - 64n * 12n));
    await eventually(() => !slow.isCurrent);
    const waiting = slow.untilCurrent();
    for (const { id, type, data, metadata, ...place } of rig.events.all)
      await behind.append(place.streamName, revisionBefore(place), [{ id, type, data, metadata }]);
    expect(await waiting).to.equal(true);
  });

  it('denies whatever an unreadable event names, and continues', async () => {
    await sampleHistory(rig.events);
    const copy = await open();
    const last = await rig.events.readLast(`token-${TOKEN}`);
    await rig.events.append(`token-${TOKEN}`, last?.revision ?? 'no-stream', [
      { id: 'e1', type: 'TokenIssued', data: { principal_id: AGENT }, metadata: last?.metadata ?? {} },
    ]);
    const next = await happened(rig.events, 'organisation-org_b', [
      { type: 'OrganisationCreated', data: { name: 'B' } },
    ]);
    await copy.waitFor(next.position);
    expect(copy.state.tokens.has(TOKEN)).to.equal(false);
    expect(copy.state.tokenIdByHash.size).to.equal(0);
    expect(copy.state.agents.has(AGENT)).to.equal(false);
    expect(copy.state.organisations.has(ORG)).to.equal(true);
  });

  it('keeps every owner that an unreadable event of an agent names, in memory and in its rows', async () => {
    await sampleHistory(rig.events);
    const projector = await rig.start();
    await rig.settle(projector);
    const copy = await open();
    const next = OWNER.replace(/.$/, 'b');
    const last = await rig.events.readLast(`agent-${AGENT}`);
    const { position } = await rig.events.append(`agent-${AGENT}`, last?.revision ?? 'no-stream', [
      {
        id: randomUUID(),
        type: 'AgentChanged',
        data: { owner_id: next, name: 5 },
        metadata: last?.metadata ?? {},
      },
    ]);
    await copy.waitFor(position);
    await rig.settle(projector);
    const kept = copy.state.agentOwners.get(AGENT);
    expect(kept?.ownerIds).to.include.members([OWNER, next]);
    expect(kept?.lastOwnerIds).to.deep.equal(kept?.ownerIds);
    expect((await open()).state.agentOwners.get(AGENT)).to.deep.equal(kept);
  });

  it('reports each mailbox that is new, changed or removed', async () => {
    const copy = await open();
    const told: (string | undefined)[] = [];
    copy.onMailboxChange(({ id, before, now }) => {
      told.push(`${id}: ${before?.state ?? 'unknown'}, ${now?.state ?? 'unknown'}`);
    });
    await sampleHistory(rig.events);
    await eventually(() => copy.state.mailboxes.get(MAILBOX)?.version === 9);
    expect(told[0]).to.equal(`${MAILBOX}: unknown, pending`);
    told.splice(0);
    await happened(rig.events, `mailbox-${MAILBOX}`, [{ type: 'MailboxPaused', data: {} }]);
    await eventually(() => told.length === 1);
    const last = await rig.events.readLast(`mailbox-${MAILBOX}`);
    await rig.events.append(`mailbox-${MAILBOX}`, last?.revision ?? 'no-stream', [
      { id: 'e1', type: 'MailboxConnected', data: {}, metadata: last?.metadata ?? {} },
    ]);
    await eventually(() => told.length === 2);
    expect(told).to.deep.equal([`${MAILBOX}: connected, paused`, `${MAILBOX}: paused, unknown`]);
  });

  it('applies an event once when its texts could not be opened at first', async () => {
    await sampleHistory(rig.events);
    let away = true;
    const copy = await openDirectory({
      sql: rig.sql,
      epochSql: rig.sql,
      events: rig.events,
      personal: {
        open: async (sealed) => {
          if (!away) return personal.open(sealed);
          away = false;
          throw new GatewayError('store_unavailable', 'The database is away.');
        },
      },
      clock: systemClock,
      log: silentLog,
    });
    opened.push(copy);
    expect(copy.state.people.get(OWNER)?.name).to.equal('Olga');
    expect(copy.state.mailboxes.get(MAILBOX)?.version).to.equal(9);
  });

  it('refuses a read model that is ahead of the log', async () => {
    await sampleHistory(rig.events);
    await rig.settle(await rig.start());
    expect((await rejection(open(new MemoryEventStore()))).message).to.contain('npm run rebuild -- all');
  });

  it('loads rebuilt rows, and allows what an unreadable event had denied', async () => {
    await sampleHistory(rig.events);
    const projector = await rig.start();
    await rig.settle(projector);
    // As a version left it that could not read an event of the token.
    await rig.sql.query(`delete from read.directory where kind = 'token'`);
    const copy = await open();
    expect(copy.state.tokens.has(TOKEN)).to.equal(false);
    const { version } = copy;
    await rebuildModels({
      sql: rig.sql,
      events: rig.events,
      personal,
      clock: systemClock,
      log: silentLog,
      projections: [directory],
      directConnection: () => openDirectConnection(rig.url, 'rebuild under test'),
      signal: new AbortController().signal,
    });
    await eventually(() => copy.state.tokens.has(TOKEN));
    expect(copy.version).to.be.greaterThan(version);
    const { position } = await happened(rig.events, `token-${TOKEN}`, [{ type: 'TokenRevoked', data: {} }]);
    await copy.waitFor(position);
    expect(copy.state.tokens.get(TOKEN)?.revokedAt).to.be.a('string');
  });

  it('ignores rebuilt rows that are older than its own', async () => {
    await sampleHistory(rig.events);
    const projector = await rig.start();
    await rig.settle(projector);
    await projector.close();
    const copy = await open();
    const revoked = await happened(rig.events, `token-${TOKEN}`, [{ type: 'TokenRevoked', data: {} }]);
    await copy.waitFor(revoked.position);
    // Rebuilt, it says, yet the rows are from before the withdrawal.
    await rig.sql.query('update work.authz_epoch set directory_build = directory_build + 1');
    await systemClock.sleep(1_500);
    expect(copy.state.tokens.get(TOKEN)?.revokedAt).to.be.a('string');
  });
});

const revisionBefore = ({ revision }: { readonly revision: bigint }): bigint | 'no-stream' =>
  revision === 0n ? 'no-stream' : revision - 1n;

/** Keeps the event loop busy. */
function stall(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}
