/** What is to be done about a send that nobody runs just now, as its operation and its draft tell it. Pure. */
import type { ErrorCode } from '../../kernel/errors.ts';
import type { SendTimes } from '../../kernel/ports.ts';
import type { SendOfOperation } from '../../operations/operation.ts';
import type { DraftState, Send } from '../draft.ts';

export type NextStep =
  /** The operation was written and the draft not yet: frozen and sent as asked. */
  | { readonly kind: 'begin' }
  /** It was never begun and can no longer be. */
  | { readonly kind: 'refuse'; readonly code: ErrorCode; readonly message: string }
  | { readonly kind: 'attempt' }
  | { readonly kind: 'give_up' }
  | { readonly kind: 'wait'; readonly until: Date }
  /** Cut off with data out: looked for, and unknown from then on. */
  | { readonly kind: 'judge'; readonly from: Date }
  /** Unknown: looked for. */
  | { readonly kind: 'look' }
  | { readonly kind: 'file_copy' }
  | { readonly kind: 'nothing' };

const NOTHING: NextStep = { kind: 'nothing' };

/** The step that comes next. The caller holds the operation's lease, so nobody is in the middle of one. */
export function nextStep(
  operation: { readonly id: string; readonly send: SendOfOperation },
  draft: DraftState,
  times: SendTimes,
  now: Date,
): NextStep {
  const { send } = draft;
  if (send?.frozen.operation_id !== operation.id) return stepWithoutDraft(operation, draft, times, now);
  switch (draft.status) {
    case 'sending':
      return stepOfSending(send, times, now);
    case 'send_unknown':
      return { kind: 'look' };
    case 'sent':
      return send.copyFiled ? NOTHING : { kind: 'file_copy' };
    case 'open':
    case 'in_review':
    case 'send_failed':
    case 'discarded':
      return NOTHING;
  }
}

function stepWithoutDraft(
  { id, send }: { readonly id: string; readonly send: SendOfOperation },
  draft: DraftState,
  { giveUpAfterMs }: SendTimes,
  now: Date,
): NextStep {
  if (send.outcome !== null || draft.sendEnds[id] !== undefined) return NOTHING;
  if (now.getTime() - Date.parse(send.intendedAt) > giveUpAfterMs) {
    // Recorded for good: whoever asks again is not told to ask again.
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

function stepOfSending(send: Send, times: SendTimes, now: Date): NextStep {
  if (send.dataBegunAt !== null)
    return { kind: 'judge', from: new Date(Date.parse(send.dataBegunAt) + times.judgeAfterMs) };
  if (send.retryAt !== null && Date.parse(send.retryAt) > now.getTime())
    return { kind: 'wait', until: new Date(send.retryAt) };
  const first = send.firstAttemptAt === null ? now.getTime() : Date.parse(send.firstAttemptAt);
  return { kind: now.getTime() - first > times.giveUpAfterMs ? 'give_up' : 'attempt' };
}
