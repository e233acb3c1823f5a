/** The background work on what the authorization server keeps between two steps, as a row for the table in `sweepers.ts`. */
import type { Ports } from '../../commands/ports/ports.ts';
import { forgetGrants, keptGrants, sweepState } from '../authorization-server/state-rows.ts';
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
      await forgetEnded(ports);
      return 'settled';
    },
  });

/** A process may have died between the end of a grant and the removal of its rows. */
export async function forgetEnded({ sql, directory }: Pick<Ports, 'sql' | 'directory'>): Promise<void> {
  const kept = await keptGrants(sql);
  // The rows first: a grant that has rows was in the log before, and a current copy knows it.
  if (!(await directory.untilCurrent())) return;
  const ended = kept.filter((id) => directory.state.oauthGrants.get(id)?.revokedAt !== null);
  if (ended.length > 0) await forgetGrants(sql, ended);
}
