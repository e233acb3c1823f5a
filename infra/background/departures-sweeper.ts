/** The background work on what memberships, roles, agents and organisations left behind, as a row for the table in `sweepers.ts`. */
import { type Departure, leftBehind, settleDeparture } from '../../commands/organisation/departures.ts';
import type { Ports } from '../../commands/ports/ports.ts';
import { row, type Sweeper } from './run-sweeper.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

const keyOf = ({ kind, id }: Departure): string => `${kind} ${id}`;

/** What was found is kept until it is settled, because finding it goes over the whole directory. */
export function departuresSweeper(ports: Ports): Sweeper {
  const found = new Map<string, Departure>();
  let foundAt = -Infinity;
  const lookAgain = (now: Date): void => {
    found.clear();
    for (const departure of leftBehind(ports.directory.state, now)) found.set(keyOf(departure), departure);
    foundAt = ports.clock.elapsedMs();
  };
  return row({
    name: 'departures',
    everyMs: MINUTE,
    atOnce: 16,
    pauses: { firstMs: SECOND, mostMs: 15 * MINUTE },
    find: ({ now, limit, except }) => {
      if (found.size === 0 || ports.clock.elapsedMs() - foundAt >= MINUTE) lookAgain(now);
      const excluded = new Set(except);
      const due: Departure[] = [];
      for (const [key, departure] of found) {
        if (due.length >= limit) break;
        if (!excluded.has(key)) due.push(departure);
      }
      return Promise.resolve(due);
    },
    keyOf,
    settle: async (departure) => {
      await settleDeparture(ports, departure);
      found.delete(keyOf(departure));
      return 'settled';
    },
  });
}
