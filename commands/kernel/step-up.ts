/** Step-up (`contract.md` 18): a person confirmed the password a short while ago, in the session that asks. */
import { type Caller, type CallerSession, isFresh } from './access.ts';
import { GatewayError } from './errors.ts';

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
  throw new GatewayError(
    'insufficient_scope',
    'Only a person who is signed in may do this: no token is enough.',
  );
}

/** For what only a person does. Throws `step_up_required` in a session without a fresh step-up, `insufficient_scope` for tokens. */
export function requireSteppedUp(caller: Pick<Caller, 'session'>, now: Date): void {
  requireSession(caller);
  if (!isSteppedUp(caller, now)) throw stepUpRequired();
}
