import { expect } from 'chai';
import { APPROVAL_RACES } from '../support/models/approval-race-list.ts';
import { type Race, RaceWorld } from '../support/models/approval-races.ts';
import { raceOften } from '../support/models/race-often.ts';
import { timesOf } from '../support/suite/long.ts';
import { verifies } from '../support/suite/verifies.ts';

const timesFor = ({ isExtra }: Race): number => (isExtra ? timesOf(12, 500) : timesOf(50, 1_000));

describe('two gateways with one approval', function () {
  this.timeout(timesOf(120_000, 900_000));
  let world: RaceWorld;

  before(async () => {
    world = await RaceWorld.open();
  });

  after(async () => {
    await world[Symbol.asyncDispose]();
  });

  for (const race of APPROVAL_RACES) {
    it(`accept exactly one of two racing calls: ${race.title} ${verifies('contract:10:one-end', 'contract:9:one-vote', 'contract:10:expiry')}`, async () => {
      expect(await raceOften(world, race, timesFor(race))).to.deep.equal([]);
    });
  }
});
