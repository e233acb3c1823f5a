/** Step-up (`contract.md` 18): a person confirmed the password a short while ago, in the session that asks. */
import type { Caller } from './access.ts';
import { GatewayError } from './errors.ts';

export const stepUpRequired = (): GatewayError =>
  new GatewayError(
    'step_up_required',
    'Confirm your password first: POST /auth/step-up with {password}, then repeat this request within 15 minutes.',
  );

/** True while the caller is a person's session whose password was given at most 15 minutes ago. */
export const isSteppedUp = ({ session }: Pick<Caller, 'session'>, now: Date): boolean =>
  session?.steppedUpUntil != null && Date.parse(session.steppedUpUntil) > now.getTime();

/**
 * For what only a person does in a session. Throws `step_up_required` in a session without a fresh step-up,
 * `insufficient_scope` for every token: no token can become a session.
 */
export function requireSteppedUp(caller: Pick<Caller, 'session'>, now: Date): void {
  if (caller.session === null) {
    throw new GatewayError(
      'insufficient_scope',
      'Only a person who is signed in may do this: no token is enough.',
    );
  }
  if (!isSteppedUp(caller, now)) throw stepUpRequired();
}
