/** The background work on what the authorization server keeps between two steps, as a row for the table in `sweepers.ts`. */
import type { Ports } from '../../commands/ports/ports.ts';
import { sweepState } from '../authorization-server/state-rows.ts';
import { row, type Sweeper } from './run-sweeper.ts';

const MINUTE = 60_000;

export const oauthStateSweeper = (ports: Ports): Sweeper =>
  row({
    name: 'oauth-state',
    everyMs: MINUTE,
    atOnce: 1,
    pauses: { firstMs: MINUTE, mostMs: 15 * MINUTE },
    find: ({ now }) => Promise.resolve([{ now }]),
    keyOf: () => 'all',
    settle: async ({ now }) => {
      await sweepState(ports.sql, now);
      return 'settled';
    },
  });
