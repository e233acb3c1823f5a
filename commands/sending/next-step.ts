/** The next step of a send that no process runs, from its operation and its draft. Pure. */
import type { ErrorCode } from '../values/errors.ts';
import type { SendTimes } from '../ports/ports.ts';
import type { ApprovalState, Committing } from '../operations/approval-state.ts';
import type { SendOfOperation } from '../operations/operation.ts';
import type { DraftState, Send } from '../drafts/draft.ts';

export type NextStep =
  /** The operation was written, the draft was not: freeze it and send it as requested. */
  | { readonly kind: 'begin' }
  /** The send was never begun and can no longer be. */
  | { readonly kind: 'refuse'; readonly code: ErrorCode; readonly message: string }
  | { readonly kind: 'attempt' }
  /** A commit was interrupted before its data: nothing was sent, and its approval revalidates. */
  | { readonly kind: 'put_back' }
  | { readonly kind: 'give_up' }
  | { readonly kind: 'wait' }
  /**
   * The attempt was interrupted after its data began: search for the message; it is unknown from this time
   * on.
   */
  | { readonly kind: 'judge'; readonly from: Date }
  /** The outcome is unknown: search for the message. */
  | { readonly kind: 'look' }
  | { readonly kind: 'file_copy' }
  | { readonly kind: 'nothing' };

const NOTHING: NextStep = { kind: 'nothing' };

/** An operation that sends: what it intends, and its approval if there is one. */
export interface SendingOperation {
  readonly id: string;
  readonly send: SendOfOperation;
  readonly approval: ApprovalState | null;
}

/** The next step. The caller holds the operation's lease, so no other process is in the middle of one. */
export function nextStep(
  operation: SendingOperation,
  draft: DraftState,
  times: SendTimes,
  now: Date,
): NextStep {
  const { send } = draft;
  const { approval } = operation;
  if (send?.frozen.operation_id === operation.id) return stepOfFrozen(approval, draft, send, { times, now });
  // A message that is not frozen for its approval is never sent.
  return approval === null ? stepWithoutDraft(operation, draft, times, now) : NOTHING;
}

function stepOfFrozen(
  approval: ApprovalState | null,
  { status }: DraftState,
  send: Send,
  { times, now }: { readonly times: SendTimes; readonly now: Date },
): NextStep {
  switch (status) {
    case 'sending':
      return stepOfSending(approval, send, times, now);
    case 'send_unknown':
      return { kind: 'look' };
    case 'sent':
      return send.copyFiled ? NOTHING : { kind: 'file_copy' };
    case 'in_review':
      return approval?.phase === 'committing' && isCommitUnbegun(approval, send)
        ? unlessTooLate('put_back', approval.attempt.firstAt, times, now)
        : NOTHING;
    case 'open':
    case 'send_failed':
    case 'discarded':
      return NOTHING;
  }
}

/** True when a commit was started and the draft's stream does not hold it yet. */
export const isCommitUnbegun = (
  { attempt }: Pick<Committing, 'attempt'>,
  { started }: Pick<Send, 'started'>,
): boolean => (started?.commit ?? 0) < attempt.number;

function stepWithoutDraft(
  { id, send }: SendingOperation,
  draft: DraftState,
  { giveUpAfterMs }: SendTimes,
  now: Date,
): NextStep {
  if (send.outcome !== null || draft.sendEnds[id] !== undefined) return NOTHING;
  if (now.getTime() - Date.parse(send.intendedAt) > giveUpAfterMs) {
    // The refusal is recorded permanently, so its code must not ask the caller to retry.
    const message = 'The gateway could not begin the send for as long as it tries; it was not sent.';
    return { kind: 'refuse', code: 'provider_rejected', message };
  }
  if (draft.status !== 'open' && draft.status !== 'send_failed') {
    const message = `The draft is ${draft.status}; it was not sent.`;
    return { kind: 'refuse', code: 'draft_locked', message };
  }
  if (draft.current?.version !== send.draftVersion) {
    const message = 'The draft was edited before it could be sent; it was not sent.';
    return { kind: 'refuse', code: 'version_conflict', message };
  }
  return { kind: 'begin' };
}

function stepOfSending(approval: ApprovalState | null, send: Send, times: SendTimes, now: Date): NextStep {
  if (send.dataBegunAt !== null)
    return { kind: 'judge', from: new Date(Date.parse(send.dataBegunAt) + times.judgeAfterMs) };
  const dueAt = send.retryAt ?? send.commitAt;
  if (dueAt !== null && Date.parse(dueAt) > now.getTime()) return { kind: 'wait' };
  return unlessTooLate(approval === null ? 'attempt' : 'put_back', send.firstAttemptAt, times, now);
}

function unlessTooLate(
  kind: 'attempt' | 'put_back',
  firstAt: string | null,
  { giveUpAfterMs }: SendTimes,
  now: Date,
): NextStep {
  const first = firstAt === null ? now.getTime() : Date.parse(firstAt);
  return { kind: now.getTime() - first > giveUpAfterMs ? 'give_up' : kind };
}
