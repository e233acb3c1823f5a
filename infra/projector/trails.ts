/** The `Trails` port, from the read models. */
import type { Ports } from '../../commands/ports/ports.ts';
import type { PartInApproval, Trails } from '../../commands/ports/trails.ts';
import { GatewayError } from '../../commands/values/errors.ts';
import { listApprovalsOf } from '../../projections/approval-queries.ts';
import { listOrganisationsOf } from '../../projections/audit-of-person.ts';
import { approvals } from '../../projections/approvals.ts';
import { checkpointKey } from '../../projections/projection.ts';
import { lowest, readCheckpoints } from './checkpoints.ts';

const WITHIN_MS = 5_000;
const ASK_AGAIN_MS = 50;

type TrailPorts = Pick<Ports, 'sql' | 'events' | 'clock'>;

export const createTrails = (ports: TrailPorts): Trails => ({
  organisationsOf: (userId) => listOrganisationsOf(ports.sql, userId),
  approvalsOf: (principalIds) => approvalsOf(ports, principalIds),
});

/** From a read model that has everything of now, also in a process without a projector. */
async function approvalsOf(
  { sql, events, clock }: TrailPorts,
  principalIds: readonly string[],
): Promise<readonly PartInApproval[]> {
  const head = await events.headPosition();
  const until = clock.elapsedMs() + WITHIN_MS;
  while (lowest((await readCheckpoints(sql, [checkpointKey(approvals)])).values()) < head) {
    if (clock.elapsedMs() >= until)
      throw new GatewayError('index_building', 'Not all approvals of the account are known yet; try again.', {
        retryAfterSeconds: WITHIN_MS / 1_000,
      });
    await clock.sleep(ASK_AGAIN_MS);
  }
  return await listApprovalsOf(sql, principalIds);
}
