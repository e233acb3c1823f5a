/** The background work on what memberships, roles, agents and organisations left behind, as a row for the table in `sweepers.ts`. */
import { leftBehind, settleDeparture } from '../../commands/organisation/departures.ts';
import type { Ports } from '../../commands/ports/ports.ts';
import { row, type Sweeper } from './run-sweeper.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

export const departuresSweeper = (ports: Ports): Sweeper =>
  row({
    name: 'departures',
    // It goes over the whole directory.
    everyMs: MINUTE,
    atOnce: 16,
    pauses: { firstMs: SECOND, mostMs: 15 * MINUTE },
    find: ({ now }) => Promise.resolve(leftBehind(ports.directory.state, now)),
    keyOf: ({ kind, id }) => `${kind} ${id}`,
    settle: async (departure) => {
      await settleDeparture(ports, departure);
      return 'settled';
    },
  });
