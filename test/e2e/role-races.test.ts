import { expect } from 'chai';
import { RaceWorld } from '../support/models/approval-races.ts';
import { raceOften } from '../support/models/race-often.ts';
import { ROLE_RACES } from '../support/models/role-race-list.ts';
import { timesOf } from '../support/suite/long.ts';
import { verifies } from '../support/suite/verifies.ts';

const TIMES = timesOf(50, 1_000);

describe('two gateways with the role of a voter', function () {
  // A race takes up to a quarter of a second, more beside other work.
  this.timeout(timesOf(120_000, 1_200_000));
  let world: RaceWorld;

  before(async () => {
    world = await RaceWorld.open();
  });

  after(async () => {
    await world[Symbol.asyncDispose]();
  });

  for (const race of ROLE_RACES) {
    it(`count no vote of a role that was lost: ${race.title} ${verifies('contract:3:role-ends')}`, async () => {
      expect(await raceOften(world, race, TIMES)).to.deep.equal([]);
    });
  }
});
