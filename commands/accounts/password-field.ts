/** What a password must be (`contract.md` 18): long, and nothing else. */
import { z } from 'zod';

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
