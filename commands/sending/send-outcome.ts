/** How a send ended, in the words that its operation records and its caller receives. Pure. */
import type { ErrorCode } from '../values/errors.ts';
import type { SendOutcome } from '../operations/operation-events.ts';
import type { DraftState, SendEnd } from '../drafts/draft.ts';

/** The code of a send whose stored message is not the frozen one; no server failure has this code. */
export const ALTERED_CODE = 'conflict';

/** What the draft's stream holds of one operation's send; null while it is not over. */
export function outcomeOf(draft: DraftState, operationId: string): SendOutcome | null {
  const end = draft.sendEnds[operationId];
  if (end !== undefined) return outcomeOfEnd(end);
  const isDiscarded = draft.status === 'discarded' && draft.send?.frozen.operation_id === operationId;
  return isDiscarded ? failed(DISCARDED) : null;
}

function outcomeOfEnd(end: SendEnd): SendOutcome {
  switch (end.kind) {
    case 'sent':
      return { outcome: 'done', error: null };
    case 'unknown':
      return { outcome: 'unknown', error: { ...UNKNOWN, smtp_status: null } };
    case 'failed': {
      const { code, smtp_status, known_by } = end.data;
      if (known_by === 'person') return failed(BY_A_PERSON);
      const message = (FINAL as Readonly<Partial<Record<string, string>>>)[code];
      // The outcome is final, so a retryable code is replaced.
      return failed(message === undefined ? GIVEN_UP : { code, message }, smtp_status);
    }
  }
}

const failed = (
  error: { readonly code: string; readonly message: string },
  smtpStatus: number | null = null,
): SendOutcome => ({ outcome: 'failed', error: { ...error, smtp_status: smtpStatus } });

const UNKNOWN = {
  code: 'outcome_unknown',
  message:
    'The connection broke before the mail server said whether it took the message; it is looked for in Sent.',
};
const DISCARDED = { code: 'draft_locked', message: 'The draft was discarded before it was sent.' };
const BY_A_PERSON = {
  code: 'provider_rejected',
  message: 'A person found that the message was not sent.',
};
const GIVEN_UP = {
  code: 'provider_rejected',
  message: 'The mail server did not take the message for as long as it was tried; it was not sent.',
};

/**
 * The refusal of a send that was never begun and is no longer permitted, as of one that ends before its next
 * attempt.
 */
export const refusedAs = (
  code: 'insufficient_scope' | 'policy_denied',
): { code: ErrorCode; message: string } => ({
  code,
  message: FINAL[code],
});

/** By code: refusals that another attempt with the same message would meet again. */
const FINAL = {
  [ALTERED_CODE]:
    'The stored message is not the one that was fixed; it was not sent. Edit the draft and send it again.',
  provider_rejected: 'The mail server refuses the message; edit the draft and send it again.',
  mailbox_auth_failed:
    'The mail server refuses the stored credentials; store new ones and send the draft again.',
  policy_denied: 'Policy no longer allows this send; it was not sent.',
  insufficient_scope: 'The requester may no longer send from this mailbox; it was not sent.',
  payload_too_large: 'The message is larger than the mail server takes.',
  operation_unsupported: 'The mail server cannot send this message.',
  target_blocked:
    'The submission server of this mailbox is not a public address and no egress rule opens it.',
};
