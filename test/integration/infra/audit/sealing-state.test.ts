import { expect } from 'chai';
import type { StoredEvent } from '../../../../commands/values/event.ts';
import { auditCommand } from '../../../../infra/admin/audit-command.ts';
import { SealMemory } from '../../../../infra/audit/seal-memory.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { ORG, SealRig } from './seal-rig.ts';

const NAME = 'gateway.example/audit';

describe('the state of sealing', () => {
  let world: SealRig;

  beforeEach(async () => {
    world = await SealRig.open();
    await world.happens(3);
    await world.seal();
  });
  afterEach(async () => {
    await world[Symbol.asyncDispose]();
  });

  it('is behind when lines waited for ten intervals', async () => {
    expect(await world.sealer().state()).to.equal('ok');
    await world.happens(1);
    const idle = world.sealer();
    expect(await idle.state()).to.equal('ok');
    world.clock.advance(11 * 60_000);
    expect(await idle.state()).to.equal('behind');
    await world.seal();
    expect(await idle.state()).to.equal('ok');
  });

  it('is behind when lines are due and nothing signs them', async () => {
    await world.happens(1);
    await world.sealer().round();
    world.clock.advance(11 * 60_000);
    expect(await world.sealer().state()).to.equal('behind');
  });

  it('is broken while a trail is, or the memory of the log was altered, until an operator begins a new epoch', async () => {
    await world.rig.sql.query('update vault.audit_watch set epoch = 7');
    expect(await world.sealer().state()).to.equal('broken');
    expect(String(await rejection(world.sealer().round()))).to.contain('altered');
    expect(await world.told('system')).to.deep.equal(['AuditSealBroken memory_altered']);
    const said = await auditCommand(world.sealer(), { verb: 'new-epoch', reason: ' A restored disk. ' });
    expect(said).to.match(/^Epoch \d{10} begins/);
    await world.seal();
    expect(await world.sealer().state()).to.equal('ok');
    expect((await world.told()).slice(-2)).to.deep.equal([
      'AuditEpochStarted operator',
      'AuditCheckpointSealed',
    ]);
    const [started] = (await world.rig.events.readStream(`auditSeal-${ORG}`)).slice(-2);
    expect(started?.data).to.include({ comment: 'A restored disk.' });
  });

  it('needs a reason for a new epoch', async () => {
    for (const given of [
      { verb: 'new-epoch', reason: ' ' },
      { verb: 'begin', reason: 'x' },
    ])
      expect(await rejection(auditCommand(world.sealer(), given))).to.be.an('error');
  });

  it('begins a new epoch after a restore of a backup without seals', async () => {
    await world.rig.sql.query('truncate vault.audit_watch, vault.audit_tree, vault.audit_signed');
    // As a restore leaves it.
    await world.rig.sql.query(
      `insert into vault.audit_watch (version, name, epoch, position, events, restored, mac) values (0, '', 1, -1, 0, true, '')`,
    );
    await world.seal();
    expect((await world.told()).slice(-2)).to.deep.equal([
      'AuditEpochStarted restore',
      'AuditCheckpointSealed',
    ]);
    expect((await world.notes())[0]).to.match(new RegExp(`^${NAME}/${ORG}/\\d{10}\n`));
  });

  it('counts a copied log again, in the same epoch, and signs what comes after the same roots', async () => {
    const memory = new SealMemory(world.rig.sql, world.masterKey);
    const watch = await memory.watch(NAME);
    // In the copy the last event has another position.
    await memory.move(watch, { ...watch, position: watch.position - 1n }, []);
    await world.happens(1);
    await world.seal();
    expect(await world.sizes()).to.deep.equal([3, 5]);
    expect(await world.told()).to.deep.equal(['AuditCheckpointSealed', 'AuditCheckpointSealed']);
    expect((await memory.watch(NAME)).events).to.equal(5);
  });

  it('is broken when a copied log is shorter than what was signed', async () => {
    await world.happens(1, 'org_b');
    await world.seal();
    await world.sealer().round();
    // The copy lacks the last event of the trail and what came after it there.
    const all = world.rig.events.all as StoredEvent[];
    const lacking = all.filter(({ streamName, revision }) => streamName.endsWith(ORG) && revision !== 0n);
    const [, last] = lacking;
    const kept = all.filter((event) => event !== last && event.streamName !== `auditSeal-${ORG}`);
    all.splice(0, all.length, ...kept);
    const memory = new SealMemory(world.rig.sql, world.masterKey);
    const watch = await memory.watch(NAME);
    await memory.move(watch, { ...watch, position: watch.position - 1n }, []);
    const signed = await world.notes();
    await world.sealer().round();
    world.clock.advance(3_600_000);
    await world.sealer().round();
    expect((await world.told()).at(-1)).to.equal('AuditSealBroken log_is_shorter');
    expect(await world.notes()).to.deep.equal(signed);
    expect(await world.sealer().state()).to.equal('broken');
  });
});
