import { expect } from 'chai';
import { APPROVAL_RACES } from '../support/models/approval-race-list.ts';
import { type Race, RaceWorld } from '../support/models/approval-races.ts';
import { ROLE_RACES } from '../support/models/role-race-list.ts';
import { figure, timesOf } from '../support/suite/long.ts';
import { Racecourse, type Side } from '../support/models/races.ts';
import { verifies } from '../support/suite/verifies.ts';

const timesFor = ({ isExtra }: Race): number => (isExtra ? timesOf(12, 500) : timesOf(50, 1_000));

describe('two gateways with one approval', function () {
  this.timeout(timesOf(60_000, 900_000));
  let world: RaceWorld;

  before(async () => {
    world = await RaceWorld.open();
  });

  after(async () => {
    await world[Symbol.asyncDispose]();
  });

  const raceOften = async (race: Race): Promise<Readonly<Record<Side, number>>> => {
    await world.setPolicy(race.policy);
    const course = new Racecourse();
    const broken: string[] = [];
    const won = { left: 0, right: 0 };
    for (let time = 0; time < timesFor(race); time += 1) {
      const { broken: rules, winner } = await world.run(race, course);
      broken.push(...rules);
      won[winner] += 1;
    }
    expect(broken.join('\n')).to.equal('');
    return won;
  };

  const proves = async (race: Race): Promise<void> => {
    const startedAt = performance.now();
    const won = await raceOften(race);
    const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
    figure(`${race.title}: ${String(timesFor(race))} races in ${seconds} s, won ${JSON.stringify(won)}`);
    for (const side of race.always ? [race.always] : (['left', 'right'] as const))
      expect(won[side], `won by the ${side} one`).to.be.above(0);
    if (race.always) expect(won[race.always]).to.equal(timesFor(race));
  };

  for (const race of APPROVAL_RACES) {
    it(`accept exactly one of two racing calls: ${race.title} ${verifies('contract:10:one-end', 'contract:9:one-vote', 'contract:10:expiry')}`, () =>
      proves(race));
  }

  for (const race of ROLE_RACES) {
    it(`count no vote of a role that was lost: ${race.title} ${verifies('contract:3:role-ends')}`, () =>
      proves(race));
  }
});
