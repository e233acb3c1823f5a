/** A race of two calls on one approval, run as often as wanted. */
import { figure } from '../suite/long.ts';
import type { Race, RaceWorld } from './approval-races.ts';
import { Racecourse } from './races.ts';

/** One sentence for each broken rule, and for a side that won never although it can, or although it cannot. */
export async function raceOften(world: RaceWorld, race: Race, times: number): Promise<readonly string[]> {
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
  const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
  figure(`${race.title}: ${String(times)} races in ${seconds} s, won ${JSON.stringify(won)}`);
  const unfair = (['left', 'right'] as const).filter((side) =>
    race.always === undefined ? won[side] === 0 : won[side] !== (side === race.always ? times : 0),
  );
  return [...broken, ...unfair.map((side) => `the ${side} one won ${String(won[side])} times`)];
}
