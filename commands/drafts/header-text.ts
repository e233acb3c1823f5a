/** Text that a caller puts into a message header. Nothing of it may end the line or be read as something else. */
import { z } from 'zod';

/** Controls of any kind and everything else some reader takes for the end of a line. */
const ENDS_A_LINE = /[\p{Cc}\p{Zl}\p{Zp}]/u;
/** RFC 2047: readers decode this wherever they meet it, so what it hides would pass every other check. */
const ENCODED_WORD = /=\?[^?]*\?[^?]?\?/;
/** RFC 5322 2.1.1 allows 998 a line; a text without a space cannot be folded. */
export const MAX_HEADER_CHARS = 900;

export const isHeaderText = (text: string): boolean =>
  text.isWellFormed() && !ENDS_A_LINE.test(text) && !ENCODED_WORD.test(text);

/** One line of at most `most` characters, without controls, line ends and encoded words; may be empty. */
export const headerText = (most: number) =>
  z
    .string()
    .max(most)
    .refine(isHeaderText, 'Control characters, line ends and encoded words (=?…?=) are not allowed here.');

/** A received text made fit for a header of ours: what may not be in it becomes a space. */
export const asHeaderText = (text: string, most = MAX_HEADER_CHARS): string =>
  text
    .toWellFormed()
    .replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
    .replaceAll('=?', '= ?')
    .slice(0, most)
    // The cut may have left half a character.
    .replace(/[\ud800-\udbff]$/, '')
    .trim();
