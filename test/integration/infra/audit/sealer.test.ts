import { expect } from 'chai';
import { createSecretKey, randomBytes } from 'node:crypto';
import { isSignedBy, rootIn } from '../../../../commands/audit/signed-note.ts';
import { eventCatalogue } from '../../../../commands/event-catalogue.ts';
import { envelope } from '../../../../commands/kernel/decide-and-append.ts';
import type { Leases } from '../../../../commands/ports/leases.ts';
import type { NewEvent } from '../../../../commands/values/event.ts';
import { publicKeysOf } from '../../../../infra/audit/seal-keys.ts';
import { Sealer, type SealPorts } from '../../../../infra/audit/sealer.ts';
import { verifyLog } from '../../../../infra/audit/verify-log.ts';
import type { Projector } from '../../../../infra/projector/projector.ts';
import { checkpointAt, linesToSeal } from '../../../../read-api/audit/checkpoints.ts';
import { ManualClock } from '../../../support/fakes/manual-clock.ts';
import { silentLog } from '../../../support/fakes/silent-log.ts';
import { randomIds, sampleAuthor } from '../../../support/samples/event-author.ts';
import { verifies } from '../../../support/suite/verifies.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { openRig, type Rig } from '../projector/projector-rig.ts';

const ORG = 'org_a';
const asked = { trail: ORG, atLeast: 1 };
const askedAgain = { trail: ORG, atLeast: 4 };
const renamed = eventCatalogue.get('OrganisationRenamed');
if (!renamed) throw new Error('no OrganisationRenamed');

describe('the sealer', () => {
  let rig: Rig;
  let projector: Projector;
  let clock: ManualClock;
  const masterKey = createSecretKey(randomBytes(32));
  const leases = (): Leases => {
    const held = new Set<string>();
    return {
      runId: 'run-1',
      acquire: (name) => Promise.resolve(held.has(name) ? false : held.add(name).has(name)),
      release: (name) => Promise.resolve(void held.delete(name)),
      acquireBy: () => Promise.resolve(false),
      releaseBy: () => Promise.resolve(),
      isHeld: (name) => held.has(name),
      holder: () => Promise.resolve(null),
    };
  };
  const sealer = (ports: Partial<SealPorts> = {}): Sealer =>
    new Sealer(
      { sql: rig.sql, events: rig.events, ids: randomIds, clock, leases: leases(), log: silentLog, ...ports },
      { masterKey, auditName: 'gateway.example/audit', everyMs: 60_000, anchors: null, file: null },
    );
  const happens = async (count: number, orgId = ORG): Promise<void> => {
    const stream = `organisation-${orgId}`;
    const last = await rig.events.readLast(stream);
    const written = Array.from({ length: count }, (): NewEvent => ({
      id: randomIds.newUuid(),
      type: 'OrganisationRenamed',
      data: { name: 'B' },
      metadata: { ...envelope(sampleAuthor(orgId), renamed, new Date()), salt: randomIds.newSalt() },
    }));
    await rig.events.append(stream, last?.revision ?? 'no-stream', written);
    await rig.settle(projector);
  };
  const sealed = async (trail = ORG): Promise<readonly { size: number; note: string }[]> =>
    await rig.sql.query<{ size: number; note: string }>(
      'select size::int, note from vault.audit_signed where trail = $1 and released_at is not null order by epoch, size',
      [trail],
    );
  const typesIn = async (trail = ORG): Promise<readonly string[]> =>
    (await rig.events.readStream(`auditSeal-${trail}`)).map(({ type }) => type);
  const verified = async () => (await verifyLog(rig, new AbortController().signal)).trails;

  beforeEach(async () => {
    rig = await openRig();
    projector = await rig.start();
    clock = new ManualClock();
  });
  afterEach(async () => {
    await rig[Symbol.asyncDispose]();
  });

  it(`signs each trail a while after its first line, under a key of its own ${verifies('contract:12:seal')}`, async () => {
    await happens(3);
    await happens(2, 'org_b');
    const one = sealer();
    expect(await one.round()).to.equal('done');
    expect(await sealed()).to.deep.equal([]);
    clock.advance(60_000);
    expect(await one.round()).to.equal('done');
    const [first] = await sealed();
    const [other] = await sealed('org_b');
    expect([first?.size, other?.size]).to.deep.equal([3, 2]);
    const name = `gateway.example/audit/${ORG}/1`;
    expect(first?.note).to.match(new RegExp(`^${name}\\n3\\n`));
    const [publicKey = randomBytes(32)] = await publicKeysOf(rig.sql, ORG);
    expect(isSignedBy(first?.note ?? '', { name, publicKey })).to.equal(true);
    expect((await verified()).get(ORG)).to.deep.include({ difference: null, size: 4 });
    expect(await typesIn()).to.deep.equal(['AuditCheckpointSealed']);
  });

  it('signs no more when only its own lines came', async () => {
    await happens(1);
    const one = sealer();
    await one.round();
    clock.advance(60_000);
    await one.round();
    for (let minute = 0; minute < 5; minute += 1) {
      await rig.settle(projector);
      await one.round();
      clock.advance(60_000);
    }
    expect(await sealed()).to.have.length(1);
    await happens(1);
    await one.round();
    clock.advance(60_000);
    await one.round();
    expect((await sealed()).map(({ size }) => size)).to.deep.equal([1, 3]);
  });

  it('signs at once what is asked for', async () => {
    await happens(2);
    await sealer().round([asked]);
    expect((await sealed()).map(({ size }) => size)).to.deep.equal([2]);
  });

  it('seals what a caller waits for, and only that', async () => {
    await happens(3);
    await sealer().sealNow(ORG, 2);
    expect((await sealed()).map(({ size }) => size)).to.deep.equal([3]);
    await happens(1);
    await sealer().sealNow(ORG, 3);
    expect(await sealed()).to.have.length(1);
    const newest = await checkpointAt(rig.sql, ORG, 'latest');
    const [first] = await sealed();
    expect(newest).to.deep.include({ size: 3, epoch: 1, note: first?.note, anchors: [] });
    expect(await linesToSeal(rig.sql, ORG)).to.equal(5);
    await sealer().sealNow(ORG, 5);
    expect((await checkpointAt(rig.sql, ORG, 1))?.size).to.equal(3);
    expect((await checkpointAt(rig.sql, ORG, 4))?.size).to.equal(5);
    expect(await checkpointAt(rig.sql, ORG, 6)).to.equal(null);
  });

  it('says when a caller has to wait longer, while another process seals or the trail is broken', async () => {
    await happens(2);
    const busy = { ...leases(), acquire: () => Promise.resolve(false) };
    expect(await rejection(sealer({ leases: busy }).sealNow(ORG, 2))).to.include({
      code: 'seal_behind',
      retryAfterSeconds: 5,
    });
    await sealer().sealNow(ORG, 2);
    await happens(1);
    await rig.sql.query('update vault.audit_tree set signed_size = 1');
    expect(await rejection(sealer().sealNow(ORG, 3))).to.include({ code: 'seal_behind' });
  });

  it('waits for a checkpoint that another process signs meanwhile', async () => {
    await happens(2);
    const [one, other] = [sealer(), sealer()];
    await Promise.all([one.sealNow(ORG, 2), other.sealNow(ORG, 2)]);
    expect(await typesIn()).to.deep.equal(['AuditCheckpointSealed']);
    expect(await sealed()).to.have.length(1);
  });

  it('tells the log of a note that was signed by a process that died, once', async () => {
    await happens(2);
    await sealer().round([asked]);
    await rig.sql.query('update vault.audit_signed set released_at = null');
    await sealer().round();
    expect(await typesIn()).to.deep.equal(['AuditCheckpointSealed']);
    expect(await sealed()).to.have.length(1);
  });

  it('continues where another process stopped, over several parts of a long log', async () => {
    await happens(2_500);
    expect(await sealer().round([asked])).to.equal('more');
    expect(await sealer().round([asked])).to.equal('done');
    const [only] = await sealed();
    expect(only?.size).to.equal(2_500);
    const trail = (await verified()).get(ORG);
    expect(trail?.difference).to.equal(null);
  });

  it('signs nothing over a read model that is not what the log says, and goes on once it is', async () => {
    await happens(3);
    const table = 'read.audit_v3';
    const [kept] = await rig.sql.query<{ body: string }>(
      `select body from ${table} where trail = $1 and seq = 2`,
      [ORG],
    );
    await rig.sql.query(
      `update ${table} set body = '{"data":{"name":"C"},"meta":{}}' where trail = $1 and seq = 2`,
      [ORG],
    );
    await sealer().round([asked]);
    expect(await sealed()).to.deep.equal([]);
    expect(await typesIn()).to.deep.equal(['AuditSealBroken']);
    expect((await verified()).get(ORG)?.difference).to.deep.equal({ size: 2, reason: 'read_model' });
    await rig.sql.query(`update ${table} set body = $2 where trail = $1 and seq = 2`, [ORG, kept?.body]);
    await rig.settle(projector);
    await sealer().round();
    clock.advance(60_000);
    await sealer().round();
    expect((await typesIn()).at(-1)).to.equal('AuditCheckpointSealed');
  });

  it('signs nothing over a trail that differs from what was signed, until an operator begins a new epoch', async () => {
    await happens(3);
    await sealer().round([asked]);
    // Somebody with the database changed the trail, and everything in `read` that follows from it.
    await rig.sql.query(`update read.audit_v3 set leaf = sha256('x') where trail = $1 and seq = 1`, [ORG]);
    await happens(1);
    await sealer().round([askedAgain]);
    expect((await typesIn()).at(-1)).to.equal('AuditSealBroken');
    expect(await sealed()).to.have.length(1);
  });

  it('believes its memory only as it wrote it', async () => {
    await happens(3);
    await sealer().round([asked]);
    await rig.sql.query(`update vault.audit_tree set frontier = '\\x${'ab'.repeat(64)}' where trail = $1`, [
      ORG,
    ]);
    await happens(1);
    await sealer().round([askedAgain]);
    clock.advance(60_000);
    await sealer().round();
    const [event] = (await rig.events.readStream(`auditSeal-${ORG}`)).slice(-1);
    expect(event?.data).to.include({ reason: 'memory_altered' });
    expect(await sealed()).to.have.length(1);
  });

  it('makes no new key for a trail that was signed', async () => {
    await happens(3);
    await sealer().round([asked]);
    await rig.sql.query('delete from vault.audit_key');
    await happens(1);
    await sealer().round([askedAgain]);
    const [event] = (await rig.events.readStream(`auditSeal-${ORG}`)).slice(-1);
    expect(event?.data).to.include({ reason: 'signature_differs' });
  });

  it('shows a restore as a new epoch over the same lines', async () => {
    await happens(3);
    await sealer().round([asked]);
    await rig.sql.query('update vault.audit_watch set restored = true');
    await happens(1);
    await sealer().round([askedAgain]);
    expect(await typesIn()).to.deep.equal([
      'AuditCheckpointSealed',
      'AuditEpochStarted',
      'AuditCheckpointSealed',
    ]);
    const [first, second] = await sealed();
    expect(second?.note.split('\n', 1)[0]).to.match(new RegExp(`^gateway.example/audit/${ORG}/[0-9]{10}$`));
    const started = (await rig.events.readStream(`auditSeal-${ORG}`))[1];
    expect(started?.data).to.deep.include({ reason: 'restore', previous_note: first?.note });
    expect((await verified()).get(ORG)?.difference).to.equal(null);
    expect(rootIn(first?.note ?? '')).to.have.length(32);
  });
});
