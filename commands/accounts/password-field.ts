/** What a password must be (`contract.md` 18): long, and nothing else. */
import { z } from 'zod';

/** Counted in code points, so that no script is at a disadvantage. */
export const MIN_PASSWORD_LENGTH = 15;
const MOST_BYTES = 1_024;

const lengthOf = (password: string): number => Array.from(password.normalize('NFC')).length;

export const isLongEnough = (password: string): boolean => lengthOf(password) >= MIN_PASSWORD_LENGTH;

/** A password being given for the first time. */
export const NewPassword = z
  .string()
  .refine((text) => text.isWellFormed(), 'This is not well-formed Unicode.')
  .refine(isLongEnough, `A password needs at least ${String(MIN_PASSWORD_LENGTH)} characters.`)
  .refine(
    (text) => Buffer.byteLength(text) <= MOST_BYTES,
    `A password has at most ${String(MOST_BYTES)} bytes.`,
  )
  .describe(`At least ${String(MIN_PASSWORD_LENGTH)} characters, whatever they are.`);

/** A password to be checked: rules of today say nothing about one given earlier. */
export const GivenPassword = z.string().min(1).max(MOST_BYTES);
