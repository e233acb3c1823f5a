/** Step-up (`contract.md` 18): a person confirmed the password a short while ago, in the session that asks. */
import { type Caller, type CallerSession, isFresh } from './access.ts';
import { isSessionId } from '../values/event.ts';
import type { DirectoryState } from '../ports/directory.ts';
import { GatewayError } from '../values/errors.ts';

export const stepUpRequired = (): GatewayError =>
  new GatewayError(
    'step_up_required',
    'Confirm your password first: POST /auth/step-up with {password}, then repeat this request within 15 minutes.',
  );

/** True while the caller is a person's session whose password was given at most 15 minutes ago. */
export const isSteppedUp = ({ session }: Pick<Caller, 'session'>, now: Date): boolean =>
  isFresh(session, now);

/** How long a password counts as just given, after sign-in and step-up alike (`contract.md` 18). */
export const STEP_UP_MS = 15 * 60_000;

/** The session of a person who is signed in. Throws `insufficient_scope` for every token: none can become a session. */
export function requireSession({ session }: Pick<Caller, 'session'>): CallerSession {
  if (session !== null) return session;
  throw new GatewayError('insufficient_scope', 'Only a signed-in person may do this; a token is not enough.');
}

/**
 * For what changes who gets in. Throws `step_up_required` without a fresh password in a session, and just so with a token
 * made from it: that is no way around the password. Tokens with a life of their own have their scopes.
 */
export function requireFreshPassword(
  { session, token }: Pick<Caller, 'session' | 'token'>,
  { sessions }: Pick<DirectoryState, 'sessions'>,
  now: Date,
): void {
  if (session === null && !isSessionId(token.id)) return;
  if (!isFresh(session ?? sessions.get(token.id) ?? null, now)) throw stepUpRequired();
}
