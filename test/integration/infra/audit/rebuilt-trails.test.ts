import { expect } from 'chai';
import { rebuildCommand } from '../../../../infra/admin/rebuild-command.ts';
import { openDirectConnection } from '../../../../infra/postgres/direct-connection.ts';
import { audit } from '../../../../projections/audit.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { verifies } from '../../../support/suite/verifies.ts';
import { personal } from '../projector/projector-rig.ts';
import { LINES, ORG, SealRig } from './seal-rig.ts';

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
    const [line] = (await world.rig.events.readStream(`auditSeal-${ORG}`)).slice(-1);
    expect(line?.data['size'], 'the checkpoint that is missing').to.equal(before[0]);
    await world.sealer().newEpoch('We looked into it.');
    await world.seal();
    expect((await world.told()).at(-1)).to.equal('AuditCheckpointSealed');
  });

  for (const own of ['nothing', 'a read model that the rebuild mends'])
    it(`stops the next signature, also when a verification that began before finds ${own}`, async () => {
      const before = await world.sizes();
      const { sql, events } = world.rig;
      if (own !== 'nothing')
        await sql.query(`update ${LINES} set leaf = sha256('x') where trail = $1 and seq = 2`, [ORG]);
      const readAll = events.readAll.bind(events);
      let found: unknown = null;
      events.readAll = async (...given) => {
        const page = await readAll(...given);
        // All lines and checkpoints are compared by then.
        if (page.length > 0 || found !== null) return page;
        found = 'soon';
        await sql.query('delete from vault.audit_signed where trail = $1 and size = $2', [ORG, before[0]]);
        found = await rejection(rebuild());
        return page;
      };
      expect(await world.verify()).to.equal(true);
      expect(String(found)).to.contain('note_missing');
      await world.happens(1);
      await world.seal();
      await world.seal();
      expect((await world.told()).at(-1)).to.equal('AuditSealBroken note_missing');
      expect(await world.sizes()).to.deep.equal(before.slice(1));
    });

  it('lets the signing continue where nothing is found', async () => {
    expect(await rebuild()).to.contain('agree with their checkpoints');
    await world.happens(1);
    await world.seal();
    expect((await world.told()).at(-1)).to.equal('AuditCheckpointSealed');
    expect(await world.sizes()).to.have.length(3);
  });
});
