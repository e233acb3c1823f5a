/** The decisions about a send, from the state of its draft alone (`contract.md` 7 and 10). Pure. */
import type { RefusedRecipient, SubmissionFailureFacts } from '../ports/submission-port.ts';
import type { SendTimes } from '../ports/ports.ts';
import type { Sealed } from '../values/sealed.ts';
import type { DraftFact, DraftState, Send } from '../drafts/draft.ts';
import type { RejectedRecipient } from '../drafts/draft-events.ts';

/** How one attempt ended, with its texts sealed. */
export type AttemptEnd =
  | {
      readonly kind: 'accepted';
      readonly response: Sealed;
      readonly replacedMessageId: Sealed | null;
      readonly rejected: readonly RejectedRecipient[];
    }
  | {
      readonly kind: 'failed';
      readonly failure: Omit<SubmissionFailureFacts, 'response' | 'refused'>;
      readonly response: Sealed | null;
      readonly rejected: readonly RejectedRecipient[];
    };

/** The intent of the next attempt to send the frozen message. */
export const startAttempt = (
  { frozen, attempts }: Pick<Send, 'frozen' | 'attempts'>,
  { runId, now, commit }: { readonly runId: string; readonly now: Date; readonly commit: number | null },
): DraftFact => ({
  type: 'SendStarted',
  data: {
    operation_id: frozen.operation_id,
    content_hash: frozen.content_hash,
    attempt: attempts + 1,
    ...(commit === null ? {} : { commit }),
    run_id: runId,
    date: now.toISOString(),
  },
});

/**
 * When the next attempt is due after one that certainly sent nothing; null when the time for attempts is
 * over.
 */
function nextAttemptAt(
  { retryAfterMs, giveUpAfterMs }: SendTimes,
  { attempts, firstAttemptAt }: Pick<Send, 'attempts' | 'firstAttemptAt'>,
  now: Date,
): Date | null {
  const pause = retryAfterMs[Math.min(attempts, retryAfterMs.length) - 1] ?? giveUpAfterMs;
  const at = now.getTime() + pause;
  const first = firstAttemptAt === null ? now.getTime() : Date.parse(firstAttemptAt);
  return at - first > giveUpAfterMs ? null : new Date(at);
}

/** Identifies an attempt: the numbers begin at 1 for each operation that the draft is frozen for. */
type AttemptOf = Pick<Send, 'frozen' | 'attempts'>;

/** True while the outcome of this attempt is not recorded. */
const awaits = ({ status, send }: DraftState, { frozen, attempts }: AttemptOf): boolean =>
  (status === 'sending' || status === 'send_unknown') &&
  send?.frozen.operation_id === frozen.operation_id &&
  send.started?.attempt === attempts &&
  send.retryAt === null;

/**
 * The facts that an attempt's end adds to the draft. None when another process has judged the attempt
 * meanwhile, unless it judged "unknown" and the server's answer is known after all.
 */
export function endAttempt(
  state: DraftState,
  attempt: AttemptOf,
  end: AttemptEnd,
  { times, now }: { readonly times: SendTimes; readonly now: Date },
): readonly DraftFact[] {
  const { send, status } = state;
  if (!send || !awaits(state, attempt)) return [];
  if (end.kind === 'accepted') return [sent(send, 'server', end)];
  if (status === 'send_unknown') return end.failure.verdict === 'unknown' ? [] : [failed(send, end)];
  switch (end.failure.verdict) {
    case 'unknown':
      return [unknown(send)];
    case 'never':
      return [failed(send, end)];
    case 'later': {
      const at = nextAttemptAt(times, send, now);
      return [at === null ? failed(send, end) : postponed(send, end, at)];
    }
  }
}

type Ended = Extract<AttemptEnd, { kind: 'failed' }>;

/** The server accepted the message, as its answer, a Sent copy or a person reports. */
export const sent = (
  { frozen, attempts, rejected }: Send,
  knownBy: 'server' | 'sent_folder' | 'person',
  answer: Pick<Extract<AttemptEnd, { kind: 'accepted' }>, 'replacedMessageId'> & {
    readonly response: Sealed | null;
    readonly rejected?: readonly RejectedRecipient[];
  } = { response: null, replacedMessageId: null },
): DraftFact => ({
  type: 'DraftSent',
  data: {
    operation_id: frozen.operation_id,
    rfc_message_id: answer.replacedMessageId,
    attempt: attempts,
    response: answer.response,
    rejected: [...(answer.rejected ?? rejected)],
    known_by: knownBy,
  },
});

export const unknown = ({ frozen, attempts }: Send): DraftFact => ({
  type: 'DraftSendUnknown',
  data: { operation_id: frozen.operation_id, attempt: attempts },
});

const failed = ({ frozen, attempts }: Send, { failure, response, rejected }: Ended): DraftFact => ({
  type: 'DraftSendFailed',
  data: {
    operation_id: frozen.operation_id,
    attempt: attempts,
    phase: failure.phase,
    code: failure.code,
    smtp_status: failure.smtpStatus,
    response,
    rejected: [...rejected],
    known_by: failure.verdict === 'never' && failure.smtpStatus !== null ? 'server' : 'gateway',
  },
});

const postponed = ({ frozen, attempts }: Send, { failure, response }: Ended, at: Date): DraftFact => ({
  type: 'SendPostponed',
  data: {
    operation_id: frozen.operation_id,
    attempt: attempts,
    phase: failure.phase,
    code: failure.code,
    smtp_status: failure.smtpStatus,
    response,
    retry_at: at.toISOString(),
    ...(frozen.approval_id === undefined ? {} : { approval_id: frozen.approval_id }),
  },
});

/**
 * Postpones a commit that was interrupted before its data; it is due now: its approval begins it again, or
 * ends.
 */
export function putBack(
  send: Send,
  { commit, ...begun }: { readonly runId: string; readonly now: Date; readonly commit: number },
): readonly DraftFact[] {
  const isBegun = send.started?.commit === commit;
  const attempt = isBegun ? send : { ...send, attempts: send.attempts + 1 };
  const put = postponed(
    attempt,
    { kind: 'failed', failure: CUT_OFF, response: null, rejected: [] },
    begun.now,
  );
  return isBegun ? [put] : [startAttempt(send, { ...begun, commit }), put];
}

const CUT_OFF = {
  phase: 'connect',
  verdict: 'later',
  code: 'mailbox_unavailable',
  smtpStatus: null,
} as const;

/** Ends a send that is no longer permitted. */
export const withdrawn = (send: Send, code: 'insufficient_scope' | 'policy_denied'): DraftFact => ({
  type: 'DraftSendFailed',
  data: { ...ended(send, 'gateway'), phase: 'connect', code },
});

/**
 * Ends a send without another attempt: a person reports that it was not sent, or the time for attempts is
 * over.
 */
export const givenUp = (send: Send, by: 'person' | 'gateway'): DraftFact => ({
  type: 'DraftSendFailed',
  data: {
    ...ended(send, by),
    phase: by === 'person' ? 'data' : 'connect',
    code: by === 'person' ? 'outcome_unknown' : 'mailbox_unavailable',
  },
});

const ended = <By extends 'person' | 'gateway'>({ frozen, attempts, rejected }: Send, by: By) => ({
  operation_id: frozen.operation_id,
  attempt: attempts,
  smtp_status: null,
  response: null,
  rejected: [...rejected],
  known_by: by,
});

/** Recipients with their texts sealed under the mailbox's key. */
export async function sealRefused(
  seal: (text: string) => Promise<Sealed>,
  refused: readonly RefusedRecipient[],
): Promise<readonly RejectedRecipient[]> {
  return await Promise.all(
    refused.map(async ({ address, smtpStatus, response }) => ({
      address: await seal(address),
      smtp_status: smtpStatus,
      response: await seal(response),
    })),
  );
}
