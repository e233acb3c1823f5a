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
const MINUTE_MS = 60_000;

type TrailPorts = Pick<Ports, 'sql' | 'events' | 'clock'>;

export const createTrails = (ports: TrailPorts): Trails => ({
  organisationsOf: (userId) => listOrganisationsOf(ports.sql, userId),
  approvalsOf: (principalIds) => approvalsOf(ports, principalIds),
});

/** From a read model that has everything of now and left nothing out, also in a process without a projector. */
async function approvalsOf(
  { sql, events, clock }: TrailPorts,
  principalIds: readonly string[],
): Promise<readonly PartInApproval[]> {
  const head = await events.headPosition();
  const until = clock.elapsedMs() + WITHIN_MS;
  while (lowest((await readCheckpoints(sql, [checkpointKey(approvals)])).values()) < head) {
    if (clock.elapsedMs() >= until)
      throw notKnown('Not all approvals of the account are known yet; try again.', WITHIN_MS);
    await clock.sleep(ASK_AGAIN_MS);
  }
  const found = await listApprovalsOf(sql, principalIds);
  if (found === null)
    throw notKnown(
      'An event of an approval could not be read: the operator must repair it first.',
      MINUTE_MS,
    );
  return found;
}

const notKnown = (why: string, againMs: number): GatewayError =>
  new GatewayError('index_building', why, { retryAfterSeconds: againMs / 1_000 });
