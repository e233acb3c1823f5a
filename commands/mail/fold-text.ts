/** Text for comparison: letters without case, accents or compatibility forms. */

const ASCII = /^[\u0000-\u007f]*$/;

/**
 * NFKD, combining marks removed, case folded. Upper case is the folded case because it joins what lower case
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
