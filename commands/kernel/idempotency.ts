/**
 * Idempotency keys (`contract.md` 14). The stream `operation-<X>`, X derived from the key, is the claim of every
 * route: an operation's own first append, or `RequestClaimed` with its outcome for anything else.
 */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { type About, appendOrNull, type Author, type Writer } from './decide-and-append.ts';
import { catalogueOf, defineEvent, readEvent, type StoredEvent } from '../values/event.ts';
import { type ErrorCode, ERROR_TABLE, GatewayError } from '../values/errors.ts';
import { sealedText } from '../values/event-fields.ts';
import type { PersonalData, Ports } from '../ports/ports.ts';
import { canonicalJson } from '../values/canonical-json.ts';
import type { Sealed } from '../values/sealed.ts';

export const RequestClaimed = defineEvent({
  type: 'RequestClaimed',
  summary: 'A request claimed an idempotency key.',
  data: z.object({
    capability: z.string(),
    fingerprint: z.string(),
    target_id: z.string().nullable(),
    run_id: z.string(),
  }),
  webhook: null,
});

export const RequestSettled = defineEvent({
  type: 'RequestSettled',
  summary: 'The request of an idempotency key ended.',
  data: z.object({
    outcome: z.enum(['ok', 'error']),
    code: z.string().nullable(),
    message: z.string().nullable(),
    /** JSON of the error's details, sealed: they may name recipients. Absent without details, and in older events. */
    details: sealedText.optional(),
  }),
  webhook: null,
});

const claimCatalogue = catalogueOf([RequestClaimed, RequestSettled]);

/** Equal for the same capability with the same input, over REST and MCP alike. */
export const fingerprintOf = (capability: string, input: unknown): string =>
  createHash('sha256')
    .update(`${capability}\n${canonicalJson(input)}`)
    .digest('hex');

/** 1–255 visible ASCII characters. Throws `invalid_request` otherwise. */
export function checkKey(key: string): string {
  if (/^[\u0021-\u007e]{1,255}$/.test(key)) return key;
  throw new GatewayError('invalid_request', 'An Idempotency-Key is 1 to 255 visible ASCII characters.', {
    details: { issues: [{ path: 'idempotency_key', code: 'invalid_format', message: 'use visible ASCII' }] },
  });
}

export const keyReused = (): GatewayError =>
  new GatewayError(
    'idempotency_key_reused',
    'This Idempotency-Key was used for another request; use a new key.',
  );

export const keyInProgress = (retryAfterSeconds: number): GatewayError =>
  new GatewayError(
    'idempotency_in_progress',
    'The first request with this Idempotency-Key is still running.',
    {
      retryAfterSeconds,
    },
  );

/** The refusal when what the first request made is gone since. */
export const resultGone = (): GatewayError =>
  new GatewayError('not_found', 'The result of this Idempotency-Key no longer exists.');

/** The stored refusal of a claimed request. */
interface RecordedError {
  readonly code: ErrorCode;
  readonly message: string;
  readonly details: Sealed | null;
}

export interface Claim {
  readonly targetId: string | null;
  readonly fingerprint: string;
  readonly runId: string;
  readonly settled:
    { readonly outcome: 'ok' } | { readonly outcome: 'error'; readonly error: RecordedError } | null;
}

/** The claim in a stream; null for an operation's stream and for an empty one. */
export function readClaim(stored: readonly StoredEvent[]): Claim | null {
  const [first, ...rest] = stored.map((event) => readEvent(claimCatalogue, event));
  if (first?.type !== RequestClaimed.type) return null;
  const claimed = RequestClaimed.data.parse(first.data);
  const end = rest.find((fact) => fact?.type === RequestSettled.type);
  const settled = end ? RequestSettled.data.parse(end.data) : null;
  return {
    targetId: claimed.target_id,
    fingerprint: claimed.fingerprint,
    runId: claimed.run_id,
    settled:
      settled &&
      (settled.outcome === 'ok' ? { outcome: 'ok' } : { outcome: 'error', error: recorded(settled) }),
  };
}

const isErrorCode = (code: string): code is ErrorCode => code in ERROR_TABLE;

const recorded = ({ code, message, details }: z.output<typeof RequestSettled.data>): RecordedError => ({
  code: code !== null && isErrorCode(code) ? code : 'internal_error',
  message: message ?? 'The first request with this Idempotency-Key failed.',
  details: details ?? null,
});

const Details = z.record(z.string(), z.unknown());

/** The refusal as it was returned; without its details once their key was erased. */
export async function replayedError(
  personal: Pick<PersonalData, 'open'>,
  { code, message, details }: RecordedError,
): Promise<GatewayError> {
  const text = details === null ? null : await personal.open(details);
  return new GatewayError(code, message, {
    replayed: true,
    details: text === null ? {} : Details.parse(JSON.parse(text)),
  });
}

export const claimStream = (operationId: string): string => `operation-${operationId}`;

/** A request that claims a key writes its purpose immediately; others wait at most this long for it. */
const MOST_LOOKS = 8;
const PAUSE_MS = 30;

/** The events in the stream of a taken key; none when nothing was written in time. */
export async function awaitClaim(
  { events, clock }: Pick<Ports, 'events' | 'clock'>,
  operationId: string,
): Promise<readonly StoredEvent[]> {
  for (let looks = 1; looks <= MOST_LOOKS; looks += 1) {
    const stored = await events.readStream(claimStream(operationId));
    if (stored.length > 0) return stored;
    await clock.sleep(PAUSE_MS * looks);
  }
  return [];
}

/** Takes the key. False when another request took it first. */
export async function writeClaim(
  writer: Writer,
  author: Author,
  operationId: string,
  { data, about }: { readonly data: z.input<typeof RequestClaimed.data>; readonly about: About },
): Promise<boolean> {
  const appended = await appendOrNull(writer, author, {
    stream: claimStream(operationId),
    expected: 'no-stream',
    catalogue: claimCatalogue,
    facts: [{ type: RequestClaimed.type, data }],
    about,
  });
  return appended !== null;
}

/** Records the end of the claimed request; a record of another process is kept. */
export async function writeSettled(
  writer: Writer,
  author: Author,
  operationId: string,
  { error, about }: { readonly error: RecordedError | null; readonly about: About },
): Promise<void> {
  await appendOrNull(writer, author, {
    stream: claimStream(operationId),
    expected: 0n,
    catalogue: claimCatalogue,
    facts: [{ type: RequestSettled.type, data: settledAs(error) }],
    about,
  });
}

function settledAs(error: RecordedError | null): z.input<typeof RequestSettled.data> {
  if (error === null) return { outcome: 'ok', code: null, message: null };
  const { code, message, details } = error;
  return { outcome: 'error', code, message, ...(details === null ? {} : { details }) };
}

/** A refusal to store. `ownerId`: the owner of the key that seals its details. */
export async function recordedError(
  personal: Pick<PersonalData, 'seal'>,
  ownerId: string,
  { code, message, details }: GatewayError,
): Promise<RecordedError> {
  const hasNone = Object.keys(details).length === 0;
  return { code, message, details: hasNone ? null : await personal.seal(ownerId, JSON.stringify(details)) };
}
