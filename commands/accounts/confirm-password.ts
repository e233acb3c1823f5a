/** Whether somebody signed in knows the password, counted like a sign-in. */
import type { Context } from '../kernel/capability.ts';
import { wrongPassword } from './invalid-credentials.ts';

/**
 * Throws `invalid_credentials`, `rate_limited` or `overloaded`. Tries are counted by the person and apart from those at the
 * door, so nobody outside can slow them down.
 */
export async function confirmPassword({ caller, ports }: Context, password: string): Promise<void> {
  const { id } = caller.principal;
  const on = { account: id, source: null };
  const verified = await ports.attempts.attempt(on, () => ports.secrets.verifyPassword(id, password));
  if (verified === null) throw wrongPassword();
}
