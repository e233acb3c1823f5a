import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { AnchorWriter } from '../../../../infra/audit/anchor-writer.ts';
import { FileAnchors } from '../../../../infra/audit/file-anchors.ts';
import { SealOvertaken } from '../../../../infra/audit/seal-memory.ts';
import { checkpointAt } from '../../../../read-api/audit/checkpoints.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { verifies } from '../../../support/suite/verifies.ts';
import { memoryLeases } from '../../../support/worlds/memory-gateway.ts';
import { ORG, SealRig } from './seal-rig.ts';

const ORIGIN = `gateway.example/audit/${ORG}/1`;

describe('checkpoints in files', () => {
  let world: SealRig;
  let folder: string;
  let anchors: FileAnchors;

  beforeEach(async () => {
    world = await SealRig.open();
    folder = await mkdtemp(join(tmpdir(), 'gateway-test-anchors-'));
    anchors = new FileAnchors(folder);
    world.anchors = anchors;
    await world.happens(3);
    await world.seal();
  });
  afterEach(async () => {
    await world[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });

  const write = (): Promise<boolean> => new AnchorWriter(world.ports, anchors).write();

  it(`are stored once an hour, told as a line and listed ${verifies('contract:17:audit-anchors')}`, async () => {
    expect(await write()).to.equal(true);
    await write();
    expect(await world.told()).to.deep.equal(['AuditCheckpointSealed', 'AuditCheckpointAnchored']);
    const [note] = await world.notes();
    expect(await anchors.newest(ORIGIN)).to.deep.equal({ size: 3, note });
    const [anchor] = (await checkpointAt(world.rig.sql, ORG, 'latest'))?.anchors ?? [];
    expect(anchor).to.include({ kind: 'file', state: 'confirmed', error: null });
    await world.happens(1);
    await world.seal();
    await write();
    expect((await anchors.newest(ORIGIN))?.size).to.equal(3);
    world.clock.advance(3_600_000);
    await write();
    expect((await anchors.newest(ORIGIN))?.size).to.equal(6);
  });

  it('are never written over, and the same one is a success', async () => {
    await write();
    const [note = ''] = await world.notes();
    await anchors.store(ORIGIN, { size: 3, note });
    expect(await rejection(anchors.store(ORIGIN, { size: 3, note: `${note}x` }))).to.include({
      code: 'EEXIST',
    });
    const [inside = ''] = await readdir(folder);
    expect(await readFile(join(folder, inside, '3.txt'), 'utf8')).to.equal(note);
  });

  it('show why they could not be stored, and sealing goes on', async () => {
    await writeFile(join(folder, 'file'), '');
    await new AnchorWriter(world.ports, new FileAnchors(join(folder, 'file'))).write();
    const [anchor] = (await checkpointAt(world.rig.sql, ORG, 'latest'))?.anchors ?? [];
    expect(anchor).to.include({ state: 'failed', error: 'ENOTDIR' });
    expect(await world.told()).to.deep.equal(['AuditCheckpointSealed']);
    world.anchors = new FileAnchors(join(folder, 'file'));
    await world.happens(1);
    await world.seal();
    expect(await world.sizes()).to.have.length(2);
  });

  it('show that the databases were put back to an earlier state', async () => {
    const [note = ''] = await world.notes();
    await anchors.store(ORIGIN, { size: 9, note: note.replace('\n3\n', '\n9\n') });
    await world.happens(1);
    await world.seal();
    expect((await world.told()).at(-1)).to.equal('AuditSealBroken anchor_differs');
    expect(await world.sizes()).to.deep.equal([3]);
  });

  it('show nothing wrong when another process signed and stored one meanwhile', async () => {
    const other = world.sealer({ leases: memoryLeases('run_2') });
    await world.happens(1);
    await other.round();
    world.clock.advance(60_000);
    /** Of a process that is paused before it reads the folder, for longer than its lease. */
    const late = new FileAnchors(folder);
    const newest = late.newest.bind(late);
    late.newest = async (origin) => {
      await other.round();
      const note = (await world.notes()).at(-1) ?? '';
      await anchors.store(ORIGIN, { size: (await world.sizes()).at(-1) ?? 0, note });
      return await newest(origin);
    };
    const before = await world.told();
    const overtaken = await rejection(world.sealer({}, { anchors: late }).round());
    expect(overtaken).to.be.instanceOf(SealOvertaken);
    expect((await world.told()).slice(before.length)).to.deep.equal(['AuditCheckpointSealed']);
  });

  it('show that a signed line was changed together with everything that follows from it', async () => {
    const [note = ''] = await world.notes();
    const [origin = '', size = '', root = ''] = note.split('\n');
    const other = note.replace(root, Buffer.alloc(32, 1).toString('base64'));
    await anchors.store(origin, { size: Number(size), note: other });
    await world.happens(1);
    await world.seal();
    expect((await world.told()).at(-1)).to.equal('AuditSealBroken anchor_differs');
  });

  it('count as absent where writing one broke off', async () => {
    await write();
    const [inside = ''] = await readdir(folder);
    await writeFile(join(folder, inside, '5.txt'), `${ORIGIN}\n5\n`);
    expect((await anchors.newest(ORIGIN))?.size).to.equal(3);
  });
});
