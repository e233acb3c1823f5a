/** Ends the approval of a draft that was edited or discarded. */
import { type Author, decideAndAppend, loadAggregate } from '../kernel/decide-and-append.ts';
import type { Ports } from '../ports/ports.ts';
import { operation, type OperationFact, type OperationState } from '../operations/operation.ts';
import type { DraftState } from './draft.ts';
import { giveBack } from '../operations/send-quota.ts';
import { approvalStatus, isOpen } from '../operations/approval-state.ts';

/** The end of an approval whose draft is no longer frozen for it: edited, or discarded. */
export const overtaken = ({ status, current }: DraftState): OperationFact =>
  status === 'discarded'
    ? invalidated('draft_discarded')
    : { type: 'ApprovalSuperseded', data: { draft_version: current?.version ?? 0 } };

export const invalidated = (reason: 'draft_discarded' | 'manifest_mismatch'): OperationFact => ({
  type: 'ApprovalInvalidated',
  data: { reason, policy: null },
});

export const eraseFrozen = async ({ content }: Ports, { send }: DraftState): Promise<void> => {
  if (send !== null) await content.erase([send.frozen.mime_id]);
};

/** Ends the approval that the draft was in review for before the edit or the discard. */
export async function endReviewOf(
  ports: Ports,
  author: Author,
  { before, after }: { readonly before: DraftState; readonly after: DraftState },
): Promise<void> {
  if (before.status !== 'in_review' || before.send === null || after.status === 'in_review') return;
  await eraseFrozen(ports, before);
  await supersedeApproval(ports, author, before.send.frozen.operation_id, after);
}

/**
 * Ends an open approval. A running commit finds the changed draft itself; an expired approval has already
 * ended. This approval can send nothing now, so its quota is given back first: a crash in between costs
 * nothing.
 */
export async function supersedeApproval(
  ports: Ports,
  author: Author,
  operationId: string,
  after: DraftState,
): Promise<void> {
  const loaded = await loadAggregate(ports.events, operation, operationId);
  const decide = ({ approval }: OperationState, now: Date): readonly OperationFact[] =>
    approval !== null && isOpen(approvalStatus(approval, { now, hasUnknown: false }))
      ? [overtaken(after)]
      : [];
  if (decide(loaded.state, ports.clock.now()).length === 0) return;
  await giveBack(ports, author, operationId, loaded.state);
  await decideAndAppend(ports, author, operation, { id: operationId, loaded, decide });
}
