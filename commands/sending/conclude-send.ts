/**
 * Records in an operation what its draft holds of the send. The draft's stream is written first, so this can
 * be repeated.
 */
import { type Author, decideAndAppend, loadAggregate, type Loaded } from '../kernel/decide-and-append.ts';
import type { Ports } from '../ports/ports.ts';
import type { ApprovalState } from '../operations/approval-state.ts';
import { attemptFailed } from '../operations/commit-kind.ts';
import { operation, type OperationFact, type OperationState } from '../operations/operation.ts';
import { isFrozenFor } from '../drafts/decide-draft.ts';
import type { DraftState } from '../drafts/draft.ts';
import { giveBack } from '../operations/send-quota.ts';
import { isCommitUnbegun } from './next-step.ts';
import { ALTERED_CODE, outcomeOf } from './send-outcome.ts';
import { invalidated, overtaken } from '../drafts/end-review.ts';
import type { Position } from '../values/position.ts';
import type { SendOutcome } from '../operations/operation-events.ts';

/** An operation, and its stream if it was just written; read only when another writer was first. */
interface Concluded {
  readonly operationId: string;
  readonly loaded?: Loaded<OperationState>;
}

/** Nothing is written while the send is not over and no commit of its approval has ended. */
export async function concludeSend(
  ports: Ports,
  author: Author,
  { operationId, ...written }: Concluded,
  draft: DraftState,
): Promise<Closed> {
  const outcome = outcomeOf(draft, operationId);
  if (outcome !== null && outcome.outcome !== 'failed')
    return await closeOperation(ports, author, { operationId, ...written }, outcome);
  const loaded = written.loaded ?? (await loadAggregate(ports.events, operation, operationId));
  const { state, position } = loaded;
  const known = { draft, now: ports.clock.now() };
  if (endOfCommit(state, operationId, known).length === 0)
    return outcome === null
      ? { state, position }
      : await closeOperation(ports, author, { operationId, loaded }, outcome);
  if (!isPutOff(state.approval, operationId, draft)) await giveBack(ports, author, operationId, state);
  return await decideAndAppend(ports, author, operation, {
    id: operationId,
    loaded,
    decide: (before) => endOfCommit(before, operationId, known),
  });
}

/** The end of a commit that certainly sent nothing: it is retried later, or nothing is left to commit. */
function endOfCommit(
  { approval }: Pick<OperationState, 'approval'>,
  operationId: string,
  { draft, now }: { readonly draft: DraftState; readonly now: Date },
): readonly OperationFact[] {
  if (approval?.phase !== 'committing') return [];
  const noEffect = (error: Failure): readonly OperationFact[] =>
    attemptFailed(approval.attempt, { error, isRetried: false, now });
  // The draft holds the time of the next attempt, whether a caller or the schedule commits.
  if (isPutOff(approval, operationId, draft)) return [...noEffect(putOffBy(draft)), nextCommit(draft)];
  const end = draft.sendEnds[operationId];
  if (end?.kind === 'failed' && end.data.code === ALTERED_CODE)
    return [...noEffect(ALTERED), invalidated('manifest_mismatch')];
  const isOurs = draft.status !== 'discarded' && draft.send?.frozen.operation_id === operationId;
  if (end !== undefined || isOurs) return [];
  return [...noEffect(OVERTAKEN), overtaken(draft)];
}

/** True when the commit's attempt was made and the draft waits for another one. */
const isPutOff = (approval: ApprovalState | null, operationId: string, draft: DraftState): boolean =>
  approval?.phase === 'committing' &&
  isFrozenFor(draft, operationId) &&
  draft.send?.retryAt != null &&
  !isCommitUnbegun(approval, draft.send);

interface Failure {
  readonly code: string;
  readonly message: string;
}

const putOffBy = ({ send }: DraftState): Failure => ({
  code: send?.putOffBy ?? 'mailbox_unavailable',
  message: 'The message could not be handed over just now; nothing was sent.',
});

const nextCommit = ({ send }: DraftState): OperationFact => ({
  type: 'CommitScheduled',
  data: { commit_at: send?.retryAt ?? '', why: 'retry' },
});

const ALTERED = {
  code: 'approval_invalidated',
  message: 'The stored message is not the one that was approved; nothing was sent.',
};
const OVERTAKEN = { code: 'draft_locked', message: 'The draft was changed first; nothing was sent.' };

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
  { operationId, loaded: written }: Concluded,
  outcome: SendOutcome,
): Promise<Closed> {
  const loaded = written ?? (await loadAggregate(ports.events, operation, operationId));
  if (outcome.outcome === 'failed') await giveBack(ports, author, operationId, loaded.state);
  return await decideAndAppend(ports, author, operation, {
    id: operationId,
    loaded,
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
