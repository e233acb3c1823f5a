/** The text of a mail with invisible characters and look-alike host names marked. */
import type { ShownBody } from '../../../commands/ports/markup.ts';
import { lookAtDomain } from '../../../commands/mail/look-alikes.ts';
import {
  asHtml,
  asText,
  mark,
  type Piece,
  type VisibleOptions,
  visiblePieces,
} from '../../../commands/html/visible-text.ts';

/** Host names that mail programs turn into links, with or without a scheme. */
const HOST_LIKE = /(?<![\p{L}\p{N}-])(?:[\p{L}\p{N}-]{1,63}\.){1,8}\p{L}{2,24}/gu;

/** The text in pieces; a look-alike is followed by its ASCII form and the reason. */
export function mailPieces(text: string, options: VisibleOptions): readonly Piece[] {
  const pieces: Piece[] = [];
  let from = 0;
  for (const { 0: host, index } of text.slice(0, options.max).matchAll(HOST_LIKE)) {
    const { ascii, warning } = /[^\x00-\x7f]/.test(host)
      ? lookAtDomain(host)
      : { ascii: host, warning: null };
    if (warning === null) continue;
    const end = index + host.length;
    pieces.push(...visiblePieces(text.slice(from, end), options), {
      ...mark(`${ascii}: ${warning}`),
      isLookAlike: true,
    });
    from = end;
  }
  return [...pieces, ...visiblePieces(text.slice(from), { ...options, max: options.max - from })];
}

export type Marks = Pick<ShownBody, 'invisibleMarks' | 'lookAlikeHosts'>;

const INVISIBLE = /^\u27e6(?:U\+|\d+ (?:combining marks|spaces))/;

/** Counts the marks by kind. */
export const marksIn = (pieces: readonly Piece[]): Marks => ({
  invisibleMarks: pieces.filter(({ isMark, text }) => isMark && INVISIBLE.test(text)).length,
  lookAlikeHosts: pieces.filter(({ isLookAlike }) => isLookAlike === true).length,
});

/** No person reads a longer text to its end. */
const MAX_TEXT_CHARS = 200_000;
/** Characters of the resulting HTML. */
const MAX_OUTPUT = 1_500_000;

/** A plain text body. */
export function renderMailText(text: string): ShownBody {
  const all = mailPieces(text, { lines: true, max: MAX_TEXT_CHARS });
  let length = 0;
  const end = all.findIndex((piece) => (length += asHtml([piece]).length) > MAX_OUTPUT);
  const pieces = end < 0 ? all : [...all.slice(0, end), mark('the rest is not shown')];
  return {
    html: `<div class="plain">${asHtml(pieces)}</div>`,
    text: asText(pieces),
    isCut: text.length > MAX_TEXT_CHARS || end >= 0,
    ...marksIn(pieces),
  };
}
