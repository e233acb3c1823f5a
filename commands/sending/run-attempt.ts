/** One attempt to send: from its intent, already in the draft's stream, to its outcome there. */
import { z } from 'zod';
import { appendDecided, type Author, decideAndAppend, type Loaded } from '../kernel/decide-and-append.ts';
import { GatewayError } from '../values/errors.ts';
import { ContentAltered } from '../ports/content-store.ts';
import { type HeldLease, LeaseLost } from '../kernel/hold-lease.ts';
import type { Ports } from '../ports/ports.ts';
import type { ExpectedRevision } from '../ports/event-store.ts';
import type { Sealed } from '../values/sealed.ts';
import {
  type Acceptance,
  type RefusedRecipient,
  type Submission,
  SubmissionFailure,
  type SubmissionFailureFacts,
} from '../ports/submission-port.ts';
import { draft, type DraftState, type Send } from '../drafts/draft.ts';
import { type AttemptEnd, endAttempt, sealRefused } from './decide-send.ts';
import { asFrozen, dateHeader, datedMessage, readAhead, whileHeld } from './message-bytes.ts';
import { ALTERED_CODE } from './send-outcome.ts';

/** An attempt whose `SendStarted` is the last event of the draft's stream. */
export interface Attempt {
  readonly draftId: string;
  readonly mailboxId: string;
  readonly state: DraftState;
  readonly send: Send;
  readonly revision: ExpectedRevision;
  readonly lease: HeldLease;
}

/** The result of the exchange with the server; `overtaken` when another process wrote to the draft first. */
type Exchanged =
  | {
      readonly kind: 'accepted';
      readonly acceptance: Acceptance;
      readonly refused: readonly RefusedRecipient[];
    }
  | { readonly kind: 'failed'; readonly facts: SubmissionFailureFacts }
  | { readonly kind: 'overtaken' };

const Envelope = z.object({ from: z.string(), to: z.array(z.string()) });

/**
 * Connects to the mailbox's server while `work` writes the intent of an attempt and runs it. A login has no
 * effect; if no attempt uses the connection, it is closed.
 */
export async function whileConnecting<T>(
  ports: Pick<Ports, 'submission'>,
  mailboxId: string,
  work: (connecting: Promise<Submission>) => Promise<T>,
): Promise<T> {
  const connecting = ports.submission.connect(mailboxId);
  // Reported by the attempt that uses it.
  connecting.catch(() => undefined);
  try {
    return await work(connecting);
  } finally {
    void connecting.then(
      (submission) => {
        submission.close();
      },
      () => undefined,
    );
  }
}

/**
 * Runs the attempt and records its end. Returns the draft after it. Throws when the store stays unavailable,
 * or the lease is lost while it is awaited.
 */
export async function runAttempt(
  ports: Ports,
  author: Author,
  attempt: Attempt,
  connecting?: Promise<Submission>,
): Promise<DraftState> {
  const { state, revision } = attempt;
  const known: Known = { loaded: { state, revision, position: null } };
  const exchanged = await exchange(ports, author, { attempt, known, connecting });
  return await recordEnd(ports, author, { attempt, known }, exchanged);
}

/** The draft as this attempt last wrote it. */
interface Known {
  loaded: Loaded<DraftState>;
}

interface Running {
  readonly attempt: Attempt;
  readonly known: Known;
}

async function exchange(
  ports: Ports,
  author: Author,
  { attempt, known, connecting }: Running & { readonly connecting: Promise<Submission> | undefined },
): Promise<Exchanged> {
  const { send, mailboxId, lease } = attempt;
  const { frozen, started } = send;
  const date = new Date(started?.date ?? frozen.frozen_at);
  const progress = {
    submission: null as Submission | null,
    phase: 'connect' as 'connect' | 'envelope',
  };
  try {
    const envelope = Envelope.parse(JSON.parse((await ports.personal.open(frozen.smtp_envelope)) ?? 'null'));
    const submission = await (connecting ?? ports.submission.connect(mailboxId));
    progress.submission = submission;
    progress.phase = 'envelope';
    const refused = await submission.begin(envelope, {
      size: dateHeader(date).length + frozen.mime_size,
      needsSmtpUtf8: frozen.needs_smtputf8,
    });
    const frozenBytes = readAhead(ports.content.open(frozen.mime_id));
    const begun = await appendDataBegun(ports, author, attempt, refused);
    if (begun === null) return { kind: 'overtaken' };
    known.loaded = begun;
    lease.assertHeld();
    const bytes = datedMessage(date, asFrozen(frozen, frozenBytes));
    const acceptance = await submission.transmit(whileHeld(lease, bytes));
    return { kind: 'accepted', acceptance, refused };
  } catch (error) {
    if (isAltered(error)) {
      ports.log.error('send: frozen message altered, not sent', { draft_id: attempt.draftId });
      return { kind: 'failed', facts: ALTERED };
    }
    if (error instanceof SubmissionFailure) return { kind: 'failed', facts: error.facts };
    // No byte of the message was sent: the failure is the gateway's own.
    if (!(error instanceof LeaseLost) && !(error instanceof GatewayError))
      ports.log.error('send: internal error', { draft_id: attempt.draftId, error: String(error) });
    return { kind: 'failed', facts: ownFailure(error, progress.phase) };
  } finally {
    progress.submission?.close();
  }
}

/**
 * The fence: appended exactly at the revision of the intent, or not at all: null. No byte of the message is
 * sent before it.
 */
async function appendDataBegun(
  ports: Ports,
  author: Author,
  { draftId, mailboxId, state, send, revision }: Attempt,
  refused: readonly RefusedRecipient[],
): Promise<Loaded<DraftState> | null> {
  const rejected = await sealRefused((text) => ports.personal.seal(mailboxId, text), refused);
  const data = { operation_id: send.frozen.operation_id, attempt: send.attempts, rejected };
  const written = await appendDecided(ports, author, draft, {
    id: draftId,
    state,
    revision,
    facts: [{ type: 'SendDataBegun', data }],
    occurredAt: ports.clock.now(),
  });
  return written && { state: written.state, ...written.appended };
}

/** The submission adapter may wrap the error in its own. */
const isAltered = (error: unknown): boolean =>
  error instanceof ContentAltered || (error instanceof Error && isAltered(error.cause));

/**
 * The message was sent without its end, so the server did not accept it; another attempt would read the same
 * bytes.
 */
const ALTERED: SubmissionFailureFacts = {
  phase: 'data',
  verdict: 'never',
  code: ALTERED_CODE,
  smtpStatus: null,
  response: null,
  refused: [],
};

const ownFailure = (error: unknown, phase: 'connect' | 'envelope'): SubmissionFailureFacts => ({
  phase,
  verdict: 'later',
  code: error instanceof GatewayError ? error.code : 'internal_error',
  smtpStatus: null,
  response: null,
  refused: [],
});

/**
 * Only this process knows the outcome, so it waits for the store as long as no other process judges the send.
 */
const RECORD_WITHIN_MS = 2 * 60_000;
const RECORD_AGAIN_MS = 1_000;

async function recordEnd(
  ports: Ports,
  author: Author,
  { attempt: { draftId, mailboxId, send, lease }, known }: Running,
  exchanged: Exchanged,
): Promise<DraftState> {
  const until = ports.clock.elapsedMs() + RECORD_WITHIN_MS;
  for (;;) {
    try {
      const end = exchanged.kind === 'overtaken' ? null : await sealEnd(ports, mailboxId, exchanged);
      const times = ports.server.sendTimes;
      const { state } = await decideAndAppend(ports, author, draft, {
        id: draftId,
        ...(end === null ? {} : { loaded: known.loaded }),
        decide: (state, now) => (end === null ? [] : endAttempt(state, send, end, { times, now })),
      });
      return state;
    } catch (error) {
      const isAway = error instanceof GatewayError && error.code === 'store_unavailable';
      if (!isAway || ports.clock.elapsedMs() > until) throw error;
      lease.assertHeld();
      await ports.clock.sleep(RECORD_AGAIN_MS);
    }
  }
}

async function sealEnd(
  ports: Ports,
  mailboxId: string,
  exchanged: Exclude<Exchanged, { kind: 'overtaken' }>,
): Promise<AttemptEnd> {
  const seal = (text: string): Promise<Sealed> => ports.personal.seal(mailboxId, text);
  if (exchanged.kind === 'accepted') {
    const { acceptance, refused } = exchanged;
    const { replacedMessageId: given } = acceptance;
    return {
      kind: 'accepted',
      response: await seal(acceptance.response),
      replacedMessageId: given === null ? null : await seal(given),
      rejected: await sealRefused(seal, refused),
    };
  }
  const { response, refused, ...failure } = exchanged.facts;
  return {
    kind: 'failed',
    failure,
    response: response === null ? null : await seal(response),
    rejected: await sealRefused(seal, refused),
  };
}
