/** Access to one approval, and the record of approvals shown without a grant on the mailbox (`contract.md` 3 and 12). */
import type { Context } from '../../commands/kernel/capability.ts';
import { approvalIdOf, operation, operationOfApproval } from '../../commands/operations/operation.ts';
import type { OperationState } from '../../commands/operations/operation.ts';
import { z } from 'zod';
import { type Sight, sightOf } from '../../commands/approvals/operation-sight.ts';
import { loadAggregate } from '../../commands/kernel/decide-and-append.ts';
import { notFound } from '../../commands/values/errors.ts';

export interface SeenOperation {
  readonly id: string;
  readonly state: Pick<OperationState, 'mailboxId'>;
}

/** The console polls every few seconds: repeats for the same token or session within this time count as one read. */
const ONE_READ_MS = 15 * 60_000;
const MAX_READS = 20_000;
const reads = new Map<string, number>();

/** Records what this caller has not seen recently; resolves when it is stored. Throws `store_unavailable`. */
export async function recordSeen(
  context: Pick<Context, 'recordRead' | 'caller' | 'ports'>,
  seen: readonly SeenOperation[],
): Promise<void> {
  const now = context.ports.clock.elapsedMs();
  const keyOf = ({ id }: SeenOperation): string => `${context.caller.token.id} ${id}`;
  const unseen = seen.filter((some) => now - (reads.get(keyOf(some)) ?? -Infinity) >= ONE_READ_MS);
  await recordPreview(context, unseen);
  if (reads.size > MAX_READS) reads.clear();
  for (const some of unseen) reads.set(keyOf(some), now);
}

/** Records every read, one event per mailbox. Throws as `recordSeen`. */
export async function recordPreview(
  { recordRead }: Pick<Context, 'recordRead'>,
  seen: readonly SeenOperation[],
): Promise<void> {
  const byMailbox = Map.groupBy(seen, ({ state }) => state.mailboxId ?? '');
  await Promise.all(
    [...byMailbox].map(([mailboxId, some]) =>
      recordRead({
        mailboxId,
        messageIds: [],
        what: 'approval',
        approvalIds: some.map(({ id }) => approvalIdOf(id)),
      }),
    ),
  );
}

/** The approval that a request names, for a caller who may see it (`contract.md` 3). */
export const ApprovalId = z.string().min(1).max(64).describe('chk_…');

export interface RequestedApproval {
  readonly operationId: string;
  readonly state: OperationState;
  readonly sight: Sight;
}

/** Throws `not_found` for an unknown id and for an approval the caller may not see; `store_unavailable`. */
export async function requestedApproval(
  { caller, ports }: Pick<Context, 'caller' | 'ports'>,
  approvalId: string,
): Promise<RequestedApproval> {
  const operationId = operationOfApproval(approvalId);
  const { state } = await loadAggregate(ports.events, operation, operationId);
  const sight = await sightOf({ caller, ports }, state);
  if (!approvalId.startsWith('chk_') || state.approval === null || sight === null) throw notFound('approval');
  return { operationId, state, sight };
}
