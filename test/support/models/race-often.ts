/** A race of two calls on one approval, run as often as wanted. */
import { expect } from 'chai';
import { figure } from '../suite/long.ts';
import { type Race, RaceWorld } from './approval-races.ts';
import { Racecourse } from './races.ts';

/** No rule is broken in any of them, and each side that can win has won. */
export async function raceOften(world: RaceWorld, race: Race, times: number): Promise<void> {
  const startedAt = performance.now();
  await world.setPolicy(race.policy);
  const course = new Racecourse();
  const broken: string[] = [];
  const won = { left: 0, right: 0 };
  for (let time = 0; time < times; time += 1) {
    const { broken: rules, winner } = await world.run(race, course);
    broken.push(...rules);
    won[winner] += 1;
  }
  expect(broken.join('\n')).to.equal('');
  const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
  figure(`${race.title}: ${String(times)} races in ${seconds} s, won ${JSON.stringify(won)}`);
  for (const side of race.always ? [race.always] : (['left', 'right'] as const))
    expect(won[side], `won by the ${side} one`).to.be.above(0);
  if (race.always) expect(won[race.always]).to.equal(times);
}
