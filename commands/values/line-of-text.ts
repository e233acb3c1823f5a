/** A line of text that a person types: a name, a folder. */
import { z } from 'zod';

/**
 * 1 to `most` characters without control characters, which end IMAP commands and cannot be stored everywhere.
 */
export const lineOfText = (most: number) =>
  z
    .string()
    .min(1)
    .max(most)
    .regex(/^\P{Cc}+$/u, 'Control characters are not allowed here.')
    .refine((text) => text.isWellFormed(), 'This is not well-formed Unicode.');
