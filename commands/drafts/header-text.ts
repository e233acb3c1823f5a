/**
 * Text that a caller puts into a message header. It must not end the line or be decoded as something else.
 */
import { z } from 'zod';

/** All control characters, and everything else that some reader treats as the end of a line. */
const ENDS_A_LINE = /[\p{Cc}\p{Zl}\p{Zp}]/u;
/** RFC 2047: readers decode this wherever it occurs, so the hidden text would pass every other test. */
const ENCODED_WORD = /=\?[^?]*\?[^?]?\?/;
/** RFC 5322 2.1.1 allows 998 characters a line; a text without a space cannot be folded. */
export const MAX_HEADER_CHARS = 900;

export const isHeaderText = (text: string): boolean =>
  text.isWellFormed() && !ENDS_A_LINE.test(text) && !ENCODED_WORD.test(text);

/** One line of at most `most` characters, without controls, line ends and encoded words; may be empty. */
export const headerText = (most: number) =>
  z
    .string()
    .max(most)
    .refine(isHeaderText, 'Control characters, line ends and encoded words (=?…?=) are not allowed here.');

/** Makes a received text valid for a header: forbidden characters become spaces. */
export const asHeaderText = (text: string, most = MAX_HEADER_CHARS): string =>
  text
    .toWellFormed()
    .replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
    .replaceAll('=?', '= ?')
    .slice(0, most)
    // The cut may have split a surrogate pair.
    .replace(/[\ud800-\udbff]$/, '')
    .trim();
