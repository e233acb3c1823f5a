/** A line somebody types: a name, a folder. */
import { z } from 'zod';

/** 1 to `most` characters, none of them a control character: those end IMAP commands and cannot be stored everywhere. */
export const lineOfText = (most: number) =>
  z
    .string()
    .min(1)
    .max(most)
    .regex(/^\P{Cc}+$/u, 'Control characters are not allowed here.')
    .refine((text) => text.isWellFormed(), 'This is not well-formed Unicode.');
