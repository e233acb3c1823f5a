/** What follows an attempt: whether and when the next one is made (`contract.md` 11). Pure. */
import type { WebhookTimes } from '../ports/ports.ts';
import type { WebhookResponse } from '../ports/webhook-port.ts';
import type { DeliveryRow } from '../ports/webhook-records.ts';
import { type DeliveryEnded, deliveryId } from './delivery-events.ts';

export type Tried = Pick<DeliveryRow, 'id' | 'endpointId' | 'failures'>;

/** The part of an outcome that decides what follows. */
export type Following = Pick<DeliveryEnded, 'failures' | 'next' | 'not_before'>;

export interface Timing {
  readonly times: Pick<WebhookTimes, 'retryAfterMs'>;
  readonly now: Date;
  /** From 0 to 1: endpoints that failed together are not tried again in step. */
  readonly chance: number;
}

const HOUR_MS = 3_600_000;
/** The endpoint is gone (RFC 9110 15.5.11): it is disabled and not tried again. */
export const GONE = 410;
/** With these, Retry-After is a pause for everything that goes to the endpoint. */
const PAUSING: ReadonlySet<number | null> = new Set([429, 503]);

export function afterResponse(
  tried: Tried,
  response: Pick<WebhookResponse, 'status' | 'httpStatus' | 'retryAfterSeconds'>,
  { times, now, chance }: Timing,
): Following {
  if (response.status === 'succeeded') return { failures: tried.failures, next: null, not_before: null };
  const failures = tried.failures + 1;
  const step = times.retryAfterMs[failures - 1];
  const asked = response.retryAfterSeconds;
  // After 410 a next attempt is made only if the endpoint was changed meanwhile, and so not disabled.
  const isFinal = response.status === 'blocked' || step === undefined;
  const waitMs = pauseOf(step ?? HOUR_MS, asked, chance);
  const at = new Date(now.getTime() + waitMs);
  const pauses = asked !== null && PAUSING.has(response.httpStatus);
  return {
    failures,
    next: isFinal ? null : nextOf(tried, now, at),
    not_before: pauses ? at.toISOString() : null,
  };
}

/** An attempt whose end nobody saw may have failed because of the gateway: it does not count, and is made again now. */
export const afterInterruption = (tried: Tried, now: Date): Following => ({
  failures: tried.failures,
  next: nextOf(tried, now, now),
  not_before: null,
});

/** ±20 %; what the endpoint asks for counts from the step up to twice the step, or an hour. */
function pauseOf(stepMs: number, askedSeconds: number | null, chance: number): number {
  const usual = stepMs * (0.8 + 0.4 * chance);
  if (askedSeconds === null) return usual;
  return Math.min(Math.max(askedSeconds * 1_000, stepMs), Math.max(2 * stepMs, HOUR_MS));
}

const nextOf = ({ id, endpointId }: Tried, now: Date, at: Date): DeliveryEnded['next'] => ({
  delivery_id: deliveryId(now, endpointId, [id]),
  due_at: at.toISOString(),
});
