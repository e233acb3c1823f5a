/**
 * Makes untrusted text visible: what a screen would not show, or would show elsewhere, becomes a mark such as
 * ⟦U+202E⟧ (Unicode TR 36, 2.2 to 2.6). Such brackets in the text itself are marked too, so no mark can be
 * faked.
 */
import { escapeText } from './html-markup.ts';

/** A run of text, or a mark that the gateway inserted. */
export interface Piece {
  readonly text: string;
  readonly isMark: boolean;
  /** It follows a name that looks like another. */
  readonly isLookAlike?: true;
}

export interface VisibleOptions {
  /** Keeps line ends and tabs; otherwise they are marked. */
  readonly lines: boolean;
  /** Maximum number of characters; the rest is counted and omitted. */
  readonly max: number;
}

/** For a header field or a name. */
export const ONE_LINE: VisibleOptions = { lines: false, max: 1_000 };

/**
 * Controls, format characters, ignorable and unassigned ones, separators, half surrogates, the Braille blank,
 * and the brackets of marks.
 */
const INVISIBLE = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800\u27e6\u27e7]/u;
/** A request for the emoji form after a character that has one (Unicode TR 51, 2.3). */
const PICTURE_FORM = /^[\p{Emoji}]\ufe0f$/u;
/** More combining marks than any script uses; they overlap the neighbouring lines. */
const PILED = /\p{M}{5,}/u;
const GAP = /[\p{Zs}\t]{4,}/u;
const SUSPECT = new RegExp(`(?:${INVISIBLE.source})|(?:${PILED.source})|(?:${GAP.source})`, 'gu');

export const mark = (text: string): Piece => ({ text: `⟦${text}⟧`, isMark: true });
const plain = (text: string): Piece => ({ text, isMark: false });

/** With more marks it is no longer text; the rest is counted like overlong text. */
const MAX_PIECES = 10_000;

/** The text in runs, with invisible characters as marks; repetitions of one mark become one with a number. */
export function visiblePieces(text: string, { lines, max }: VisibleOptions = ONE_LINE): readonly Piece[] {
  const shown = text.length > max ? text.slice(0, max) : text;
  const pieces: Piece[] = [];
  let from = 0;
  for (const { 0: found, index } of shown.matchAll(SUSPECT)) {
    if (isHarmless(found, shown, index, lines)) continue;
    if (pieces.length >= MAX_PIECES) break;
    if (index > from) pieces.push(plain(shown.slice(from, index)));
    pieces.push(mark(nameOf(found)));
    from = index + found.length;
  }
  const end = pieces.length >= MAX_PIECES ? from : shown.length;
  if (from < end) pieces.push(plain(shown.slice(from, end)));
  if (end < text.length) pieces.push(mark(`${String(text.length - end)} more characters`));
  return counted(pieces);
}

function isHarmless(found: string, text: string, index: number, lines: boolean): boolean {
  if (lines && (found === '\n' || found === '\t' || /^\p{Zs}+$/u.test(found))) return true;
  return found === '\ufe0f' && PICTURE_FORM.test(characterBefore(text, index) + found);
}

const characterBefore = (text: string, index: number): string =>
  /.$/su.exec(text.slice(Math.max(0, index - 2), index))?.[0] ?? '';

const codePoint = (character: string): string =>
  `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;

function nameOf(found: string): string {
  const length = Array.from(found).length;
  if (/^\p{M}{5}/u.test(found)) return `${String(length)} combining marks`;
  return length > 1 ? `${String(length)} spaces` : codePoint(found);
}

function counted(pieces: readonly Piece[]): readonly Piece[] {
  const runs: { piece: Piece; times: number }[] = [];
  for (const piece of pieces) {
    const last = runs.at(-1);
    if (last && piece.isMark && last.piece.isMark && last.piece.text === piece.text) last.times += 1;
    else runs.push({ piece, times: 1 });
  }
  return runs.map(({ piece, times }) =>
    times === 1 ? piece : mark(`${piece.text.slice(1, -1)} ×${String(times)}`),
  );
}

/** Pieces as text. */
export const asText = (pieces: readonly Piece[]): string => pieces.map(({ text }) => text).join('');

/** Pieces as HTML, with all text escaped. */
export const asHtml = (pieces: readonly Piece[]): string =>
  pieces
    .map(({ text, isMark }) => (isMark ? `<span class="mark">${escapeText(text)}</span>` : escapeText(text)))
    .join('');

const UNSEEN = new RegExp(`(?:${INVISIBLE.source})+`, 'gu');
const PILES = new RegExp(PILED.source, 'gu');

/** The text without what cannot be seen: a space in the place of each run of it, and four marks of a pile. */
export const withoutInvisible = (text: string): string =>
  text.replaceAll(UNSEEN, ' ').replaceAll(PILES, (pile) => Array.from(pile).slice(0, 4).join(''));

/** A text of one line with everything in it made visible. */
export const visible = (text: string): string => asText(visiblePieces(text));
