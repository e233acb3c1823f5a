/** One attempt to send: from its intent, already in the draft's stream, to its outcome there. */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { appendFacts, type Author, decideAndAppend, streamOf } from '../kernel/decide-and-append.ts';
import { GatewayError } from '../values/errors.ts';
import { ContentAltered } from '../ports/content-store.ts';
import { type HeldLease, LeaseLost } from '../kernel/hold-lease.ts';
import type { Ports } from '../ports/ports.ts';
import { type ExpectedRevision, WrongExpectedRevision } from '../ports/event-store.ts';
import type { Sealed } from '../values/sealed.ts';
import {
  type Acceptance,
  type RefusedRecipient,
  SubmissionFailure,
  type SubmissionFailureFacts,
} from '../ports/submission-port.ts';
import { aboutDraft, draft, type DraftState, type Send } from '../drafts/draft.ts';
import { type AttemptEnd, endAttempt, sealRefused } from './decide-send.ts';
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
 * Runs the attempt and records its end. Returns the draft after it. Throws when the store stays unavailable,
 * or the lease is lost while it is awaited.
 */
export async function runAttempt(ports: Ports, author: Author, attempt: Attempt): Promise<DraftState> {
  const exchanged = await exchange(ports, author, attempt);
  return await recordEnd(ports, author, attempt, exchanged);
}

async function exchange(ports: Ports, author: Author, attempt: Attempt): Promise<Exchanged> {
  const { send, mailboxId, lease } = attempt;
  const { frozen, started } = send;
  const date = new Date(started?.date ?? frozen.frozen_at);
  const progress = {
    submission: null as { close(): void } | null,
    phase: 'connect' as 'connect' | 'envelope',
  };
  try {
    const envelope = Envelope.parse(JSON.parse((await ports.personal.open(frozen.smtp_envelope)) ?? 'null'));
    const submission = await ports.submission.connect(mailboxId);
    progress.submission = submission;
    progress.phase = 'envelope';
    const refused = await submission.begin(envelope, {
      size: dateHeader(date).length + frozen.mime_size,
      needsSmtpUtf8: frozen.needs_smtputf8,
    });
    await appendDataBegun(ports, author, attempt, refused);
    lease.assertHeld();
    const bytes = datedMessage(date, asFrozen(frozen, ports.content.open(frozen.mime_id)));
    const acceptance = await submission.transmit(whileHeld(lease, bytes));
    return { kind: 'accepted', acceptance, refused };
  } catch (error) {
    if (error instanceof WrongExpectedRevision) return { kind: 'overtaken' };
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
 * The fence: appended exactly at the revision of the intent, or not at all. No byte of the message is sent
 * before it.
 */
async function appendDataBegun(
  ports: Ports,
  author: Author,
  { draftId, mailboxId, state, send, revision }: Attempt,
  refused: readonly RefusedRecipient[],
): Promise<void> {
  const rejected = await sealRefused((text) => ports.personal.seal(mailboxId, text), refused);
  await appendFacts(ports, author, {
    stream: streamOf(draft, draftId),
    expected: revision,
    catalogue: draft.catalogue,
    facts: [
      {
        type: 'SendDataBegun',
        data: { operation_id: send.frozen.operation_id, attempt: send.attempts, rejected },
      },
    ],
    about: aboutDraft(state, state),
  });
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
  { draftId, mailboxId, send, lease }: Attempt,
  exchanged: Exchanged,
): Promise<DraftState> {
  const until = ports.clock.elapsedMs() + RECORD_WITHIN_MS;
  for (;;) {
    try {
      const end = exchanged.kind === 'overtaken' ? null : await sealEnd(ports, mailboxId, exchanged);
      const times = ports.server.sendTimes;
      const { state } = await decideAndAppend(ports, author, draft, {
        id: draftId,
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

/** The frozen message as it is sent: `Date` is that of the attempt, the rest is as it was frozen. */
const DAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

const twoDigits = (number: number): string => String(number).padStart(2, '0');

/** The header line with its line end, in the form of RFC 5322 3.3 and in UTC. */
function dateHeader(date: Date): Uint8Array {
  const day = `${DAYS[date.getUTCDay()] ?? ''}, ${String(date.getUTCDate())}`;
  const month = `${MONTHS[date.getUTCMonth()] ?? ''} ${String(date.getUTCFullYear())}`;
  const time = [date.getUTCHours(), date.getUTCMinutes(), date.getUTCSeconds()].map(twoDigits).join(':');
  return new TextEncoder().encode(`Date: ${day} ${month} ${time} +0000\r\n`);
}

/** Yields the `Date` header, then the frozen bytes. */
export async function* datedMessage(
  date: Date,
  mime: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array, void, undefined> {
  yield dateHeader(date);
  yield* mime;
}

/**
 * Yields the same bytes. Throws `ContentAltered` in place of their end when their hash (SHA-256, hex) is not
 * the frozen one: no server accepts a message without its end.
 */
async function* asFrozen(
  { mime_id, mime_sha256 }: { readonly mime_id: string; readonly mime_sha256: string },
  mime: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array, void, undefined> {
  const hash = createHash('sha256');
  for await (const chunk of mime) {
    hash.update(chunk);
    yield chunk;
  }
  if (hash.digest('hex') !== mime_sha256) throw new ContentAltered(mime_id);
}

/**
 * Yields the same bytes while the lease is held, and throws in place of their end afterwards: a process that
 * slept past its lease completes no message.
 */
async function* whileHeld(
  lease: Pick<HeldLease, 'assertHeld'>,
  bytes: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array, void, undefined> {
  for await (const chunk of bytes) {
    lease.assertHeld();
    yield chunk;
  }
  lease.assertHeld();
}
