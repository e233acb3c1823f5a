/** Whether somebody signed in knows the password, counted like a sign-in. */
import type { Context } from '../kernel/capability.ts';
import { wrongPassword } from './invalid-credentials.ts';

/**
 * Throws `invalid_credentials`, `rate_limited` or `overloaded`. Tries are counted by the person and apart from those at the
 * door, so nobody outside can slow them down.
 */
export async function confirmPassword({ caller, ports }: Context, password: string): Promise<void> {
  const { id } = caller.principal;
  const attempt = await ports.attempts.admit({ account: id, source: null });
  if (await ports.secrets.verifyPassword(id, password)) {
    await attempt.succeeded();
    return;
  }
  await attempt.failed();
  throw wrongPassword();
}
