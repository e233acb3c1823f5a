/** The approval that a request names, for a caller who may see it (`contract.md` 3). */
import { z } from 'zod';
import { type Sight, sightOf } from '../../commands/approvals/operation-sight.ts';
import type { Context } from '../../commands/kernel/capability.ts';
import { loadAggregate } from '../../commands/kernel/decide-and-append.ts';
import { notFound } from '../../commands/values/errors.ts';
import { operationOfApproval } from '../../commands/operations/operation-id.ts';
import { operation, type OperationState } from '../../commands/operations/operation.ts';

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
