import { expect } from 'chai';
import { LeaseLost } from '../../../../commands/kernel/hold-lease.ts';
import { TrailVerifier } from '../../../../infra/audit/trail-verifier.ts';
import { getVerification, verifyAudit } from '../../../../read-api/audit/verification-routes.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { verifies } from '../../../support/suite/verifies.ts';
import { Died, dyingAt } from './dying-ports.ts';
import { LINES, ORG, SealRig } from './seal-rig.ts';

describe('the verification of all trails', () => {
  let world: SealRig;

  beforeEach(async () => {
    world = await SealRig.open();
    await world.happens(3);
    await world.seal();
  });
  afterEach(async () => {
    await world[Symbol.asyncDispose]();
  });

  /** Verifies, then shows that nothing is signed until an operator begins a new epoch. */
  const finds = async (reason: string): Promise<void> => {
    expect(await world.verify()).to.equal(true);
    expect((await world.told()).at(-1)).to.equal(`AuditSealBroken ${reason}`);
    const before = await world.sizes();
    await world.happens(1);
    await world.seal();
    expect(await world.sizes()).to.deep.equal(before);
    // Told once, however often it is found.
    const told = await world.told();
    await world.verify();
    expect(await world.told()).to.deep.equal(told);
  };
  const beginsAnew = async (): Promise<void> => {
    await world.sealer().newEpoch('We looked into it.');
    await world.seal();
    expect((await world.told()).slice(-2)).to.deep.equal([
      'AuditEpochStarted operator',
      'AuditCheckpointSealed',
    ]);
  };

  it(`says that a trail agrees with every checkpoint, again only after new lines ${verifies('contract:12:verified')}`, async () => {
    await world.verify();
    await world.settle();
    await world.verify();
    expect(await world.told()).to.deep.equal(['AuditCheckpointSealed', 'AuditVerified']);
    await world.happens(1);
    await world.verify();
    expect((await world.told()).at(-1)).to.equal('AuditVerified');
  });

  it(`finds an event that was changed after it was signed ${verifies('contract:12:seal-broken')}`, async () => {
    world.alterEvent(1, { data: { name: 'Changed' } });
    await finds('root_differs');
  });

  it('finds a log that is shorter than what was signed', async () => {
    (world.rig.events.all as unknown[]).splice(2);
    await finds('log_is_shorter');
  });

  it('finds an event that is missing in its stream', async () => {
    (world.rig.events.all as unknown[]).splice(1, 1);
    await finds('revision_missing');
  });

  it('finds a note that was changed, and one that was removed', async () => {
    const [note = ''] = await world.notes();
    const altered = note.replace('\n3\n', '\n4\n');
    await world.rig.sql.query('update vault.audit_signed set note = $1', [altered]);
    await finds('signature_differs');
    await world.rig.sql.query('delete from vault.audit_signed');
    await beginsAnew();
  });

  it('finds a note of the log that the memory lacks', async () => {
    await world.rig.sql.query('delete from vault.audit_signed');
    await finds('note_missing');
  });

  for (const [what, change] of [
    [
      'a body',
      `update ${LINES} set body = '{"data":{"name":"C"},"meta":{}}' where trail = '${ORG}' and seq = 2`,
    ],
    ['a leaf', `update ${LINES} set leaf = sha256('x') where trail = '${ORG}' and seq = 2`],
  ] as const) {
    it(`finds ${what} that the read model has otherwise, and goes on once it is right again`, async () => {
      const [kept] = await world.rig.sql.query<{ body: string; leaf: Buffer }>(
        `select body, leaf from ${LINES} where trail = $1 and seq = 2`,
        [ORG],
      );
      await world.rig.sql.query(change);
      await finds('read_model');
      await world.rig.sql.query(`update ${LINES} set body = $2, leaf = $3 where trail = $1 and seq = 2`, [
        ORG,
        kept?.body,
        kept?.leaf,
      ]);
      await world.happens(1);
      await world.seal();
      await world.seal();
      expect((await world.told()).at(-1)).to.equal('AuditCheckpointSealed');
    });
  }

  it('says nothing of a new epoch that an operator began meanwhile', async () => {
    await world.rig.sql.query('delete from vault.audit_signed');
    const sealer = world.sealer();
    const meanwhile: Pick<typeof sealer, 'stop'> = {
      stop: async (...found) => {
        await sealer.newEpoch('We looked into it.');
        await sealer.stop(...found);
      },
    };
    await new TrailVerifier(world.ports, meanwhile).verify(new AbortController().signal);
    await world.seal();
    expect((await world.told()).slice(-2)).to.deep.equal([
      'AuditEpochStarted operator',
      'AuditCheckpointSealed',
    ]);
  });

  it('finds an inner node that is not the one over its lines', async () => {
    await world.happens(300);
    await world.verify();
    expect((await world.told()).at(-1)).to.equal('AuditVerified');
    await world.rig.sql.query(`update read.audit_node_v3 set hash = sha256('x') where trail = $1`, [ORG]);
    await finds('read_model');
  });

  it('is due a day after the last, and an hour after it when somebody asks', async () => {
    const verifier = new TrailVerifier(world.ports, world.sealer());
    /** And ended at once. */
    const began = (ago: string) =>
      world.rig.sql.query(
        `update vault.audit_verification set (started_at, ended_at) =
         (now() - interval '${ago}', now() - interval '${ago}')`,
      );
    expect(await verifier.isDue()).to.equal(false);
    await began('2 hours');
    expect(await verifier.isDue()).to.equal(false);
    await world.rig.sql.query('update vault.audit_verification set asked_at = now()');
    expect(await verifier.isDue()).to.equal(true);
    await began('30 minutes');
    expect(await verifier.isDue()).to.equal(false);
    await began('25 hours');
    expect(await verifier.isDue()).to.equal(true);
  });

  it('is due again ten minutes after it began and broke off, unless it still runs', async () => {
    const verifier = new TrailVerifier(world.ports, world.sealer());
    const died = AbortSignal.abort(new Error('the process ends'));
    expect(String(await rejection(verifier.verify(died)))).to.contain('the process ends');
    expect(await verifier.isDue(), 'at once').to.equal(false);
    const began = (ago: string) =>
      world.rig.sql.query(
        `update vault.audit_verification set started_at = now() - $1::interval, ended_at = ended_at - interval '1 day'`,
        [ago],
      );
    await began('9 minutes');
    expect(await verifier.isDue()).to.equal(false);
    await began('11 minutes');
    expect(await verifier.isDue()).to.equal(true);
    await world.rig.sql.query(
      `insert into work.lease (name, run_id, until) values ('audit-verifier', 'run_2', now() + interval '30 seconds')`,
    );
    expect(await verifier.isDue(), 'another process verifies').to.equal(false);
    await world.rig.sql.query(`update work.lease set until = now() - interval '1 second'`);
    expect(await world.verify()).to.equal(true);
    await began('11 minutes');
    await world.rig.sql.query('update vault.audit_verification set ended_at = now()');
    expect(await verifier.isDue(), 'it ended').to.equal(false);
  });

  it(`stops a trail before it says so, and says so also when the process dies between ${verifies('contract:12:seal-broken')}`, async () => {
    await world.happens(1);
    await world.seal();
    await world.rig.sql.query('delete from vault.audit_signed where size = 3');
    for (const isDone of [false, true]) {
      for (let at = 1, isOver = false; !isOver; at += 1) {
        const { ports, died } = dyingAt(world.ports, at, isDone);
        const verification = new TrailVerifier(ports, world.sealer(ports)).verify(
          new AbortController().signal,
        );
        await verification.catch((error: unknown) => {
          if (!(error instanceof Died)) throw error;
        });
        isOver = !died();
        const [tree] = await world.rig.sql.query<{ broken: string | null }>(
          'select broken from vault.audit_tree where trail = $1',
          [ORG],
        );
        const isTold = (await world.told()).at(-1) === 'AuditSealBroken note_missing';
        if (isTold) expect(tree?.broken, 'told once it is so').to.equal('note_missing');
        if (tree?.broken != null) {
          await world.seal();
          expect((await world.told()).at(-1)).to.equal('AuditSealBroken note_missing');
          await finds('note_missing');
        }
        // As if nothing was found so far.
        await world.sealer().newEpoch('Again.');
        await world.seal();
        await world.happens(1);
        await world.seal();
        await world.rig.sql.query(
          'delete from vault.audit_signed where (epoch, size) = (select epoch, min(size) from vault.audit_signed where trail = $1 group by epoch order by epoch desc limit 1)',
          [ORG],
        );
        expect(at).to.be.lessThan(60);
      }
    }
  });

  it('says of a finding whether it still stops the signing', async () => {
    const context = { ports: { sql: world.rig.sql }, caller: { org: { id: ORG } } } as never;
    const shown = () => getVerification.handle({}, context);
    expect(await shown()).to.include({ state: 'none', epoch: 1, stopped: null });
    world.alterEvent(1, { data: { name: 'Changed' } });
    await finds('root_differs');
    const found = { size: 3, reason: 'root_differs', epoch: 1 };
    expect(await shown()).to.deep.include({
      state: 'broken',
      broken: found,
      epoch: 1,
      stopped: 'root_differs',
    });
    world.alterEvent(1, { data: { name: 'B' } });
    const epoch = await world.sealer().newEpoch('We looked into it.');
    expect(await shown()).to.deep.include({ state: 'broken', broken: found, epoch, stopped: null });
    await world.seal();
    await world.verify();
    expect(await shown()).to.deep.include({ broken: null, epoch, stopped: null });
  });

  it('answers a request with one that began after it and ended', async () => {
    const { sql } = world.rig;
    const context = { ports: { sql }, caller: { org: { id: ORG } } } as never;
    const requestedAt = async () => (await getVerification.handle({}, context)).requested_at;
    const verifier = new TrailVerifier(world.ports, world.sealer());
    await verifyAudit.handle({}, context);
    const first = await requestedAt();
    expect(first).to.be.a('string');
    expect(await rejection(verifier.verify(AbortSignal.abort(new Error('it ends'))))).to.be.an('error');
    expect(await requestedAt(), 'it broke off').to.equal(first);
    await sql.query('delete from vault.audit_signed');
    const meanwhile = { stop: () => verifyAudit.handle({}, context).then(() => undefined) };
    await new TrailVerifier(world.ports, meanwhile).verify(new AbortController().signal);
    expect(await requestedAt(), 'made while it ran')
      .to.be.a('string')
      .and.not.to.equal(first);
    await sql.query(`update vault.audit_verification set started_at = now() - interval '61 minutes'`);
    expect(await verifier.isDue()).to.equal(true);
    await world.verify();
    expect(await requestedAt()).to.equal(null);
  });

  /** What happens while it tells the log; resolves to what it left in the database. */
  const disturbed = async (happens: () => unknown) => {
    const { sql } = world.rig;
    await sql.query('delete from vault.audit_signed');
    const meanwhile = { stop: () => Promise.resolve(happens()).then(() => undefined) };
    const verification = new TrailVerifier(world.ports, meanwhile).verify(new AbortController().signal);
    const error = await verification.then(
      () => null,
      (thrown: unknown) => thrown,
    );
    const [left] = await sql.query<{ has_ended: boolean; trails: number }>(
      `select ended_at >= started_at as has_ended, (select count(*)::int from vault.audit_verified) as trails
         from vault.audit_verification`,
    );
    return { error, ...left };
  };

  it('remembers nothing when another process has its lease by then', async () => {
    const left = await disturbed(() => world.leases.release('audit-verifier'));
    expect(left.error).to.be.instanceOf(LeaseLost);
    expect(left).to.include({ has_ended: false, trails: 0 });
  });

  it('does not end one that began since', async () => {
    const { sql } = world.rig;
    const left = await disturbed(() => sql.query('update vault.audit_verification set started_at = now()'));
    expect(left).to.include({ error: null, has_ended: false, trails: 1 });
  });

  it('runs in one process at a time', async () => {
    const [one, other] = await Promise.all([world.verify(), world.verify()]);
    expect([one, other].toSorted()).to.deep.equal([false, true]);
  });
});
