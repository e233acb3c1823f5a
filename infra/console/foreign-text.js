/** Text by others: isolated from the sentence around it, with invisible characters made visible. */
import { h } from './dom.js';

/**
 * Controls, formats (bidi, zero width, tags), separators of lines, private and unassigned characters: Unicode general
 * categories Cc, Cf, Zl, Zp, Co, Cn.
 */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cn}]/gu;
/** A joiner between the parts of an emoji is part of that emoji (UTS 51). */
const EMOJI_BEFORE = /\p{Extended_Pictographic}[\u{FE0F}\u{1F3FB}-\u{1F3FF}]?$/u;
const EMOJI_AFTER = /^\p{Extended_Pictographic}/u;

/** @type {Readonly<Record<string, string>>} */
const NAMES = {
  '0000': 'null',
  '0009': 'tab',
  '000A': 'line feed',
  '000D': 'carriage return',
  '00AD': 'soft hyphen',
  '061C': 'Arabic letter mark',
  '200B': 'zero width space',
  '200C': 'zero width non-joiner',
  '200D': 'zero width joiner',
  '200E': 'left-to-right mark',
  '200F': 'right-to-left mark',
  '202A': 'left-to-right embedding',
  '202B': 'right-to-left embedding',
  '202C': 'end of embedding',
  '202D': 'left-to-right override',
  '202E': 'right-to-left override',
  2060: 'word joiner',
  2066: 'left-to-right isolate',
  2067: 'right-to-left isolate',
  2068: 'first strong isolate',
  2069: 'end of isolate',
  FEFF: 'zero width no-break space',
};

/**
 * A text in one line.
 * @param {string} text
 */
export const foreign = (text) => h('bdi', { dir: 'auto' }, split(text, '', mark));

/**
 * A text of many lines, each with its own direction; tabs are kept.
 * @param {string} text
 */
export const foreignLines = (text) =>
  text
    .replaceAll('\r\n', '\n')
    .split('\n')
    .map((line) => h('div', { dir: 'auto', class: 'line' }, line === '' ? h('br') : split(line, '\t', mark)));

/**
 * A text in one line without elements, for the page's title or a label.
 * @param {string} text
 */
export const foreignPlain = (text) => split(text, '', (character) => `[U+${codeOf(character)}]`).join('');

/**
 * @template T
 * @param {string} text
 * @param {string} kept invisible characters to keep
 * @param {(character: string) => T} shown
 * @returns {(string | T)[]}
 */
function split(text, kept, shown) {
  /** @type {(string | T)[]} */
  const parts = [];
  let from = 0;
  for (const { 0: character, index } of text.matchAll(INVISIBLE)) {
    if (kept.includes(character) || joinsEmoji(text, character, index)) continue;
    parts.push(text.slice(from, index), shown(character));
    from = index + character.length;
  }
  parts.push(text.slice(from));
  return parts;
}

/**
 * @param {string} text
 * @param {string} character
 * @param {number} index
 */
const joinsEmoji = (text, character, index) =>
  character === '\u200D' &&
  EMOJI_BEFORE.test(text.slice(Math.max(0, index - 4), index)) &&
  EMOJI_AFTER.test(text.slice(index + 1));

/** @param {string} character */
const codeOf = (character) => (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');

/** @param {string} character */
function mark(character) {
  const code = codeOf(character);
  const title = `U+${code} ${NAMES[code] ?? 'an invisible character'}`;
  return h('span', { class: 'invisible', title }, `U+${code}`);
}
