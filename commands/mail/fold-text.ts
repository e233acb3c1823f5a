/** Text as it is compared: letters without case, accents or compatibility forms. */

const ASCII = /^[\u0000-\u007f]*$/;

/**
 * NFKD, combining marks dropped, case folded. Upper case is the folded case because it joins what lower case keeps
 * apart (final sigma, sharp s); folding twice gives the same text.
 */
export function foldText(text: string): string {
  if (ASCII.test(text)) return text.toUpperCase();
  return withoutMarks(withoutMarks(text).toUpperCase());
}

/** Dropped before as well, which changes nothing but the time: decomposing takes the square of a run of marks. */
const withoutMarks = (text: string): string =>
  text.replaceAll(MARKS, '').normalize('NFKD').replaceAll(MARKS, '');

const MARKS = /\p{M}+/gu;

/** True when `part` occurs in `text`, both folded. */
export const containsFolded = (text: string | null, part: string): boolean =>
  text !== null && foldText(text).includes(foldText(part));
