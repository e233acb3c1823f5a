/** The `AttemptLimits` port over `work.sign_in_attempt`, so that all replicas count together. */
import { setTimeout as delay } from 'node:timers/promises';
import { GatewayError } from '../../commands/values/errors.ts';
import type { AttemptLimits } from '../../commands/ports/sign-in-port.ts';
import { AttemptPlaces, forgetOldPlaces, type PlaceLimits } from './attempt-places.ts';

export interface SignInAttemptsOptions extends PlaceLimits {
  /** How long after it came a refused try from a source is told so; a second unless given. */
  readonly refusedAfterMs?: number;
}

/**
 * Longer than a password takes to check behind a full queue: a person known here is checked before being refused, a stranger is
 * not, and nobody must see which it was.
 */
const REFUSED_AFTER_MS = 1_000;
/** Whatever becomes of them: those who only fail must not fill the table. */
const TRIES_PER_SWEEP = 50;

export function createSignInAttempts(options: SignInAttemptsOptions): AttemptLimits {
  let tries = 0;
  return {
    attempt: async (on, check) => {
      const refuseAt = performance.now() + (options.refusedAfterMs ?? REFUSED_AFTER_MS);
      tries += 1;
      if (tries % TRIES_PER_SWEEP === 1) await forgetOldPlaces(options);
      const places = new AttemptPlaces(options, on);
      const refuse = async (waitMs: number): Promise<never> => {
        if (on.source !== null) await delay(Math.max(0, refuseAt - performance.now()));
        throw tooOften(waitMs);
      };
      // Somebody known here is judged as a stranger too, but after the check: the database is asked the same either way.
      const isKnown = await places.enterKnown();
      const strangersWaitMs = isKnown ? 0 : await places.enter();
      if (strangersWaitMs > 0) return await refuse(strangersWaitMs);
      const lateWaitMs = async (): Promise<number> => (isKnown ? await places.enter() : 0);
      const result = await check().catch(async (error: unknown) => {
        const waitMs = await lateWaitMs();
        if (waitMs > 0) return await refuse(waitMs);
        throw error;
      });
      if (result !== null) {
        await places.succeed(isKnown);
        return result;
      }
      const waitMs = await lateWaitMs();
      await places.fail({ isKnown, isLetIn: waitMs === 0 });
      return waitMs > 0 ? await refuse(waitMs) : null;
    },
  };
}

const tooOften = (waitMs: number): GatewayError =>
  new GatewayError('rate_limited', 'Passwords were tried too often here; wait before the next one.', {
    retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1_000)),
    details: { limit: 'sign_ins_per_minute' },
  });
