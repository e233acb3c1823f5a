/** A session: a person signed in, with a bearer of its own. The bearer itself is never stored. */
import { z } from 'zod';
import type { Aggregate } from '../kernel/decide-and-append.ts';
import { catalogueOf, defineEvent, type Fact, type PastFact } from '../values/event.ts';
import { instant, sealedVerifier, verifierInClear } from '../values/event-fields.ts';
import { GatewayError, notFound } from '../values/errors.ts';
import type { Sealed } from '../values/sealed.ts';
import { STEP_UP_MS } from '../kernel/step-up.ts';

/** However often it is used (`contract.md` 2). */
export const SESSION_MS = 12 * 60 * 60_000;
/** Without use (`contract.md` 2). */
export const SESSION_IDLE_MS = 30 * 60_000;

export const SessionStarted = defineEvent({
  type: 'SessionStarted',
  summary: 'A person signed in.',
  data: z.object({
    user_id: z.string(),
    /** SHA-256 of the bearer. */
    secret_hash: sealedVerifier,
    expires_at: instant,
    stepped_up_until: instant,
  }),
  upcasters: [verifierInClear],
});

export const SessionSteppedUp = defineEvent({
  type: 'SessionSteppedUp',
  summary: 'A person confirmed the password within a session.',
  data: z.object({ user_id: z.string(), until: instant }),
});

export const END_REASONS = ['logout', 'revoked', 'password_changed', 'too_many'] as const;
export type EndReason = (typeof END_REASONS)[number];

export const SessionEnded = defineEvent({
  type: 'SessionEnded',
  summary: 'A session was ended before it expired; requests with it are refused.',
  data: z.object({ user_id: z.string(), reason: z.enum(END_REASONS) }),
});

export const sessionEvents = [SessionStarted, SessionSteppedUp, SessionEnded] as const;
type SessionEvent = (typeof sessionEvents)[number];

export interface SessionState {
  readonly userId: string | null;
  readonly expiresAt: string;
  readonly steppedUpUntil: string;
  readonly isEnded: boolean;
}

export const session: Aggregate<SessionState, SessionEvent> = {
  category: 'session',
  catalogue: catalogueOf(sessionEvents),
  initial: { userId: null, expiresAt: '', steppedUpUntil: '', isEnded: false },
  evolve: (state, fact: PastFact<SessionEvent>) => {
    switch (fact.type) {
      case 'SessionStarted':
        return {
          userId: fact.data.user_id,
          expiresAt: fact.data.expires_at,
          steppedUpUntil: fact.data.stepped_up_until,
          isEnded: false,
        };
      case 'SessionSteppedUp':
        return { ...state, steppedUpUntil: fact.data.until };
      case 'SessionEnded':
        return { ...state, isEnded: true };
    }
  },
};

/** A session that begins at `now`: the password was just given. Refuses an id that was used before. */
export function startSession(
  state: SessionState,
  { userId, secretHash, now }: { readonly userId: string; readonly secretHash: Sealed; readonly now: Date },
): readonly Fact<SessionEvent>[] {
  if (state.userId !== null) throw new GatewayError('conflict', 'This session was started already.');
  return [
    {
      type: 'SessionStarted',
      data: {
        user_id: userId,
        secret_hash: secretHash,
        expires_at: after(now, SESSION_MS),
        stepped_up_until: after(now, STEP_UP_MS),
      },
    },
  ];
}

/** The password was given again, so it counts as fresh for a while. Throws `token_revoked` or `token_expired` when the session is over. */
export function stepUp(state: SessionState, now: Date): readonly Fact<SessionEvent>[] {
  if (state.userId === null || state.isEnded) {
    throw new GatewayError('token_revoked', 'This session is over; sign in again.');
  }
  if (Date.parse(state.expiresAt) <= now.getTime()) {
    throw new GatewayError('token_expired', 'This session has expired; sign in again.');
  }
  return [{ type: 'SessionSteppedUp', data: { user_id: state.userId, until: after(now, STEP_UP_MS) } }];
}

/** A session that is over already stays as it is. */
export function endSession(state: SessionState, reason: EndReason): readonly Fact<SessionEvent>[] {
  if (state.userId === null) throw notFound('session');
  return state.isEnded ? [] : [{ type: 'SessionEnded', data: { user_id: state.userId, reason } }];
}

const after = (now: Date, milliseconds: number): string =>
  new Date(now.getTime() + milliseconds).toISOString();
