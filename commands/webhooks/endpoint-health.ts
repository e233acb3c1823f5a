/** How an endpoint answers, and when the gateway leaves it alone for a while: derived from the outcomes of its attempts. */
import type { EndpointHealth } from '../ports/webhook-records.ts';
import type { DeliveryEnded } from './delivery-events.ts';

export const NEW_HEALTH: EndpointHealth = {
  lastSequence: 0,
  consecutiveFailures: 0,
  firstFailureAt: null,
  lastSuccessAt: null,
  lastFailureAt: null,
  notBefore: null,
  rests: 0,
};

/** From this many failures in a row on, the endpoint rests between attempts, and one attempt probes it. */
export const BREAKER_FAILURES = 10;
const FIRST_REST_MS = 30_000;
const LONGEST_REST_MS = 15 * 60_000;

/** Without the failures so far: after a success, a new URL, or when a person makes the endpoint active again. */
export const recovered = (health: EndpointHealth): EndpointHealth => ({
  ...health,
  consecutiveFailures: 0,
  firstFailureAt: null,
  notBefore: null,
  rests: 0,
});

/** The health after an attempt that ended at `at`. Interrupted and cancelled attempts say nothing of the endpoint. */
export function healthAfter(health: EndpointHealth, ended: DeliveryEnded, at: string): EndpointHealth {
  if (ended.status === 'succeeded') return { ...recovered(health), lastSuccessAt: at };
  if (ended.status !== 'failed' && ended.status !== 'blocked') return health;
  const consecutiveFailures = health.consecutiveFailures + 1;
  const { notBefore, rests } = health;
  // Attempts that were under way when the rest began do not make it longer.
  const wasResting =
    notBefore !== null && ended.started_at !== null && Date.parse(ended.started_at) < Date.parse(notBefore);
  const restsNow = consecutiveFailures >= BREAKER_FAILURES && !wasResting;
  const restMs = Math.min(LONGEST_REST_MS, FIRST_REST_MS * 2 ** rests);
  return {
    ...health,
    consecutiveFailures,
    firstFailureAt: health.firstFailureAt ?? at,
    lastFailureAt: at,
    rests: restsNow ? rests + 1 : rests,
    notBefore: latest(
      latest(notBefore, ended.not_before),
      restsNow ? new Date(Date.parse(at) + restMs).toISOString() : null,
    ),
  };
}

const latest = (a: string | null, b: string | null): string | null =>
  a === null || (b !== null && Date.parse(b) > Date.parse(a)) ? b : a;
