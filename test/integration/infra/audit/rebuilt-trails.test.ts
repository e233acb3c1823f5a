import { expect } from 'chai';
import { rebuildCommand } from '../../../../infra/admin/rebuild-command.ts';
import { openDirectConnection } from '../../../../infra/postgres/direct-connection.ts';
import { audit } from '../../../../projections/audit.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { verifies } from '../../../support/suite/verifies.ts';
import { personal } from '../projector/projector-rig.ts';
import { ORG, SealRig } from './seal-rig.ts';

describe('what a rebuild of the audit trail finds', function () {
  this.timeout(60_000);
  let world: SealRig;

  beforeEach(async () => {
    world = await SealRig.open();
    for (const lines of [3, 2]) {
      await world.happens(lines);
      await world.seal();
    }
  });
  afterEach(async () => {
    await world[Symbol.asyncDispose]();
  });

  const rebuild = (): Promise<string> => {
    const parts = {
      ...world.ports,
      personal,
      directConnection: () => openDirectConnection(world.rig.url, 'rebuild under test'),
      [Symbol.asyncDispose]: () => Promise.resolve(),
    };
    return rebuildCommand(parts, [audit], new AbortController().signal);
  };

  it(`stops the next signature, before the gateway has verified ${verifies('contract:12:seal-broken')}`, async () => {
    const before = await world.sizes();
    expect(before).to.have.length(2);
    // The next round compares with the last checkpoint only.
    await world.rig.sql.query('delete from vault.audit_signed where trail = $1 and size = $2', [
      ORG,
      before[0],
    ]);
    expect(String(await rejection(rebuild()))).to.contain(`${ORG} (note_missing at ${String(before[0])})`);
    expect(String(await rejection(world.sealer().keys.rotate(ORG)))).to.contain('broken');
    await world.happens(1);
    await world.seal();
    expect(await world.sizes()).to.deep.equal(before.slice(1));
    expect((await world.told()).at(-1)).to.equal('AuditSealBroken note_missing');
    await world.sealer().newEpoch('We looked into it.');
    await world.seal();
    expect((await world.told()).at(-1)).to.equal('AuditCheckpointSealed');
  });

  it('lets the signing continue where nothing is found', async () => {
    expect(await rebuild()).to.contain('agree with their checkpoints');
    await world.happens(1);
    await world.seal();
    expect((await world.told()).at(-1)).to.equal('AuditCheckpointSealed');
    expect(await world.sizes()).to.have.length(3);
  });
});
