import { expect } from 'chai';
import { memoryLeases } from '../../../support/worlds/memory-gateway.ts';
import { verifies } from '../../../support/suite/verifies.ts';
import { Died, dyingAt } from './dying-ports.ts';
import { ORG, SealRig } from './seal-rig.ts';

describe('a sealer that dies', function () {
  this.timeout(120_000);

  for (const isDone of [false, true]) {
    it(`directly ${isDone ? 'after' : 'before'} any step signs and tells each size once ${verifies('contract:12:seal-crash')}`, async () => {
      await using world = await SealRig.open();
      for (let at = 1, isOver = false; !isOver; at += 1) {
        await world.happens(1);
        await world.sealer().round();
        world.clock.advance(60_000);
        const { ports, died } = dyingAt(world.ports, at, isDone);
        await world
          .sealer(ports)
          .round()
          .catch((error: unknown) => {
            if (!(error instanceof Died)) throw error;
          });
        isOver = !died();
        await world.settle();
        await world.sealer().round();
        await world.settle();
        expect(at).to.be.lessThan(100);
      }
      const told = await world.rig.events.readStream(`auditSeal-${ORG}`);
      const sizes = told.map(({ data }) => data['size']);
      expect(told.map(({ type }) => type)).to.deep.equal(sizes.map(() => 'AuditCheckpointSealed'));
      expect(new Set(sizes).size).to.equal(sizes.length);
      expect(sizes).to.deep.equal(await world.sizes());
      expect(sizes.length).to.be.greaterThan(10);
      await world.verify();
      expect((await world.told()).at(-1)).to.equal('AuditVerified');
    });
  }

  it(`is one of two: both seal at once, and every size is signed and told once ${verifies('contract:12:seal-crash')}`, async () => {
    await using world = await SealRig.open();
    for (let lines = 1; lines <= 6; lines += 1) {
      await world.happens(lines);
      await world.sealer().round();
      world.clock.advance(60_000);
      const rounds = ['a', 'b', 'c'].map((run) => world.sealer({ leases: memoryLeases(run) }).round());
      await Promise.allSettled(rounds);
      await world.sealer().round();
      await world.settle();
    }
    const told = await world.rig.events.readStream(`auditSeal-${ORG}`);
    expect(told.map(({ data }) => data['size'])).to.deep.equal(await world.sizes());
    expect(await world.sizes()).to.have.length(6);
  });
});
