/** Records the outcome of a send in its operation, and with it the end of its approval. */
import { type Author, decideAndAppend, loadAggregate } from '../kernel/decide-and-append.ts';
import type { Ports } from '../ports/ports.ts';
import type { Position } from '../values/position.ts';
import { operation, type OperationFact, type OperationState } from '../operations/operation.ts';
import type { SendOutcome } from '../operations/operation-events.ts';
import { giveBack } from '../operations/send-quota.ts';

export interface Closed {
  readonly state: OperationState;
  readonly position: Position | null;
}

/**
 * Records an outcome, or replaces "unknown" by a known one. A failed send is given back to the quota first.
 */
export async function closeOperation(
  ports: Ports,
  author: Author,
  operationId: string,
  outcome: SendOutcome,
): Promise<Closed> {
  if (outcome.outcome === 'failed') {
    const { state } = await loadAggregate(ports.events, operation, operationId);
    await giveBack(ports, author, operationId, state);
  }
  return await decideAndAppend(ports, author, operation, {
    id: operationId,
    decide: (state) => factsOf(state, outcome),
  });
}

function factsOf({ send, approval }: OperationState, now: SendOutcome): readonly OperationFact[] {
  // An approval that ended without a commit has recorded its end.
  if (send === null || (approval !== null && approval.phase !== 'committing')) return [];
  const ended = approval === null ? [] : endOfApproval(now, approval.attempt.number);
  if (send.outcome === null) {
    return [
      { type: 'SendOutcomeRecorded', data: now },
      { type: 'OperationCompleted', data: { summary: summaryOf(now) } },
      ...ended,
    ];
  }
  return send.outcome.outcome === 'unknown' && now.outcome !== 'unknown'
    ? [{ type: 'SendReconciled', data: now }, ...ended]
    : [];
}

/** Returns nothing while the outcome is unknown. */
function endOfApproval({ outcome }: SendOutcome, attempt: number): readonly OperationFact[] {
  if (outcome === 'unknown') return [];
  return [{ type: outcome === 'done' ? 'ApprovalCommitted' : 'ApprovalCommitFailed', data: { attempt } }];
}

/** One message is one item. */
export const summaryOf = ({ outcome }: SendOutcome): { done: number; failed: number; unknown: number } => ({
  done: outcome === 'done' ? 1 : 0,
  failed: outcome === 'failed' ? 1 : 0,
  unknown: outcome === 'unknown' ? 1 : 0,
});
