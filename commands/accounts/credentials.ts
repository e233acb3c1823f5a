/** The one refusal of whoever cannot show to be whom they say: it tells nobody which accounts exist (`contract.md` 18). */
import { GatewayError } from '../values/errors.ts';
import type { Context } from '../kernel/capability.ts';
import { z } from 'zod';

export const invalidCredentials = (): GatewayError =>
  new GatewayError('invalid_credentials', 'E-mail address or password is wrong.');

export const invalidLink = (): GatewayError =>
  new GatewayError(
    'invalid_credentials',
    'This link was used already, has expired or never existed; ask for a new one.',
  );

/** Within a session everybody knows whose password it is. */
export const wrongPassword = (): GatewayError =>
  new GatewayError('invalid_credentials', 'The password is wrong.');

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

/** Counted in code points, so that no script is at a disadvantage. */
export const MIN_PASSWORD_LENGTH = 15;
const MOST_BYTES = 1_024;

/** Composing takes the square of a run of marks, so what is over the bound is not composed; long enough it is. */
const lengthOf = (password: string): number =>
  isBounded(password) ? Array.from(password.normalize('NFC')).length : password.length;

const isBounded = (password: string): boolean => Buffer.byteLength(password) <= MOST_BYTES;

export const isLongEnough = (password: string): boolean => lengthOf(password) >= MIN_PASSWORD_LENGTH;

/** A password being given for the first time. */
export const NewPassword = z
  .string()
  // Rules behind one that aborts are not looked at.
  .refine(isBounded, { abort: true, error: `A password has at most ${String(MOST_BYTES)} bytes.` })
  .refine((text) => text.isWellFormed(), 'This is not well-formed Unicode.')
  .refine(isLongEnough, `A password needs at least ${String(MIN_PASSWORD_LENGTH)} characters.`)
  .describe(`At least ${String(MIN_PASSWORD_LENGTH)} characters, whatever they are.`);

/** A password to be checked: rules of today say nothing about one given earlier. */
export const GivenPassword = z.string().min(1).max(MOST_BYTES);

/** RFC 5321 4.5.3.1: 64 characters, the sign, 255 more. */
const MOST_CHARS = 320;

/** Enough to notice a slip; whether mail arrives there is another question. */
export const isEmailAddress = (text: string): boolean => /^[^\s@]+@[^\s@]+$/.test(text.trim());

export const NewEmail = z.string().max(MOST_CHARS).refine(isEmailAddress, 'This is not an e-mail address.');

/** One to look for: whatever it is, it is unknown or known. */
export const GivenEmail = z.string().min(1).max(MOST_CHARS);
