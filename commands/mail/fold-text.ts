/** Text from mail: folded for comparison, and clean for storage. */

const ASCII = /^[\u0000-\u007f]*$/;

/**
 * Letters without case, accents or compatibility forms: NFKD, combining marks removed, case folded. Upper case is the folded case because it joins what lower case
 * separates (final sigma, sharp s). Folding is idempotent.
 */
export function foldText(text: string): string {
  if (ASCII.test(text)) return text.toUpperCase();
  return withoutMarks(withoutMarks(text).toUpperCase());
}

/**
 * Marks are also removed before, only for speed: decomposition is quadratic in the length of a run of marks.
 */
const withoutMarks = (text: string): string =>
  text.replaceAll(MARKS, '').normalize('NFKD').replaceAll(MARKS, '');

const MARKS = /\p{M}+/gu;

/** True when `part` occurs in `text`, both folded. */
export const containsFolded = (text: string | null, part: string): boolean =>
  text !== null && foldText(text).includes(foldText(part));

/** C0 controls and DEL (RFC 5322 2.2: a field body is printable US-ASCII and spaces, decoded words aside). */
const CONTROL = /[\u0000-\u001f\u007f]/g;

/**
 * Text from mail headers as it is stored. Controls, which encoded words can hide, become spaces, halves of surrogate pairs U+FFFD: the result can be stored, compared and sent
 * anywhere.
 */
export const cleanText = (text: string): string => text.toWellFormed().replaceAll(CONTROL, ' ');

/** True when `cleanText` would change nothing. */
export const isCleanText = (text: string): boolean => cleanText(text) === text;
