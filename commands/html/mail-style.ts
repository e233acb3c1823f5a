/**
 * What a mail that goes out may say of its looks: colours, letters, alignment, boxes. What would write text, load, move
 * text from its place or lay something over it is not among it. Each value is matched as a whole, so no escape, no comment,
 * no address and, but for the names of fonts, no string gets through.
 */
import { isColourName } from './css-colour.ts';

type Rule = (value: string, element: string) => boolean;

const oneOf = (words: string): Rule => {
  const allowed = new Set(words.split(' '));
  return (value) => allowed.has(value);
};
const like =
  (pattern: RegExp): Rule =>
  (value) =>
    pattern.test(value);
const either =
  (...rules: readonly Rule[]): Rule =>
  (value, element) =>
    rules.some((rule) => rule(value, element));
const upTo =
  (most: number, rule: Rule): Rule =>
  (value, element) => {
    const words = value.split(' ');
    return words.length <= most && words.every((word) => rule(word, element));
  };
const on =
  (elements: string, rule: Rule): Rule =>
  (value, element) =>
    elements.split(' ').includes(element) && rule(value, element);

/** Only what every program reads alike: whoever took a value for none would show another colour. */
const COLOUR = either(
  isColourName,
  like(/^#(?:[\da-f]{3}){1,2}$/),
  like(/^rgb\((?:\d{1,3},){2}\d{1,3}\)$/),
  like(/^rgba\((?:\d{1,3},){3}(?:0|1|[01]?\.\d{1,3})\)$/),
  oneOf('transparent inherit'),
);
/** Nothing negative, which moves, and nothing so large that it moves far. */
const LENGTH = like(
  /^(?:0|\d{1,3}(?:\.\d{1,4})?(?:px|pt)|(?:\d(?:\.\d{1,4})?|\.\d{1,4})(?:em|rem)|(?:100|\d{1,2}(?:\.\d{1,4})?)%)$/,
);
const WIDTH = either(LENGTH, like(/^\d{4}px$/), oneOf('auto none'));
const SIZE = either(
  like(
    /^(?:0|\d{1,2}(?:\.\d{1,4})?(?:px|pt)|(?:\d(?:\.\d{1,4})?|\.\d{1,4})(?:em|rem)|\d{1,3}(?:\.\d{1,4})?%)$/,
  ),
  oneOf('xx-small x-small small medium large x-large xx-large smaller larger'),
);
/** Lines that stand closer than their letters are high cover each other. */
const LINE = like(
  /^(?:normal|[1-4](?:\.\d{1,4})?(?:em)?|[1-4]\d\d(?:\.\d{1,4})?%|[1-9]\d(?:\.\d{1,4})?(?:px|pt))$/,
);
const BORDER = either(
  like(/^(?:0|\d{1,2}(?:\.\d{1,4})?(?:px|pt))$/),
  oneOf('none hidden solid dashed dotted double groove ridge inset outset thin medium thick'),
  COLOUR,
);
const FONT_STYLE = oneOf('normal italic oblique');
const WEIGHT = oneOf('normal bold bolder lighter 100 200 300 400 500 600 700 800 900');
const BREAKS = oneOf('normal break-word break-all keep-all anywhere');

/** Fonts of pictures make other signs of the letters. */
const FAMILY = /^(?:'[\w .-]{1,60}'|"[\w .-]{1,60}"|[\w -]{1,60})$/;
const OF_SIGNS = /dings|^\W?symbol\W?$/;
const isFamily = (value: string): boolean =>
  value.split(',').every((name) => FAMILY.test(name) && !OF_SIGNS.test(name));

/** `style weight size/line family`; the first two as they like. */
function isFont(value: string, element: string): boolean {
  const words = value.split(' ');
  const at = words.findIndex((word) => !FONT_STYLE(word, element) && !WEIGHT(word, element));
  const [size = '', line = 'normal', ...more] = (words[at] ?? '').split('/');
  return (
    more.length === 0 && SIZE(size, element) && LINE(line, element) && isFamily(words.slice(at + 1).join(' '))
  );
}

/** Where the height is the least it takes; elsewhere what is higher would run into what comes after. */
const HIGH = 'img table tr td th hr';
/** An item without its number would read otherwise than it is shown. */
const DISPLAY = oneOf('block inline inline-block none table table-row table-cell');

const edges = (property: string, rule: Rule): [string, Rule][] =>
  ['top', 'right', 'bottom', 'left'].map((edge) => [property.replace('*', edge), rule]);

const ALLOWED: ReadonlyMap<string, Rule> = new Map<string, Rule>([
  ['color', COLOUR],
  ['background-color', COLOUR],
  ['background', either(COLOUR, oneOf('none'))],
  ['font', isFont],
  ['font-family', isFamily],
  ['font-size', SIZE],
  ['font-style', FONT_STYLE],
  ['font-weight', WEIGHT],
  ['line-height', LINE],
  ['letter-spacing', like(/^(?:normal|0|\d(?:\.\d{1,4})?px|0?\.\d{1,4}em)$/)],
  ['text-align', oneOf('left right center justify start end')],
  ['text-decoration', upTo(3, either(oneOf('none underline overline solid dotted dashed'), COLOUR))],
  ['vertical-align', oneOf('top middle bottom baseline text-top text-bottom sub super')],
  ['white-space', oneOf('normal nowrap pre pre-wrap pre-line')],
  ['word-break', BREAKS],
  ['word-wrap', BREAKS],
  ['overflow-wrap', BREAKS],
  ['margin', upTo(4, either(LENGTH, oneOf('auto')))],
  ...edges('margin-*', either(LENGTH, oneOf('auto'))),
  ['padding', upTo(4, LENGTH)],
  ...edges('padding-*', LENGTH),
  ...['border', 'border-width', 'border-style', 'border-color'].map((each): [string, Rule] => [
    each,
    upTo(4, BORDER),
  ]),
  ...['', '-width', '-style', '-color'].flatMap((part) => edges(`border-*${part}`, upTo(3, BORDER))),
  ['border-radius', upTo(4, LENGTH)],
  ['border-collapse', oneOf('collapse separate')],
  ['border-spacing', upTo(2, LENGTH)],
  ['width', WIDTH],
  ['min-width', WIDTH],
  ['max-width', WIDTH],
  ['min-height', LENGTH],
  ['height', on(HIGH, WIDTH)],
  ['max-height', on('img', WIDTH)],
  ['display', (value, element) => element !== 'li' && DISPLAY(value, element)],
  ...['list-style', 'list-style-type'].map((each): [string, Rule] => [
    each,
    on('ul', oneOf('none disc circle square')),
  ]),
]);

/** Longer ones are not read to their end by those who look for what is hidden. */
const MAX_STYLE_CHARS = 4_000;
const MAX_DECLARATIONS = 60;

/** Of a style attribute of such an element what may go out, each property once; empty when that is nothing. */
export function mailStyle(element: string, style: string): string {
  const kept = new Map<string, string>();
  for (const piece of style.slice(0, MAX_STYLE_CHARS).split(';', MAX_DECLARATIONS)) {
    const colon = piece.indexOf(':');
    const property = piece.slice(0, Math.max(0, colon)).trim().toLowerCase();
    const value = tidy(piece.slice(colon + 1));
    if (ALLOWED.get(property)?.(value.toLowerCase(), element) !== true) continue;
    kept.delete(property);
    kept.set(property, value);
  }
  return [...kept].map(([property, value]) => `${property}:${value}`).join(';');
}

/** The family of a `font` element, as strict as in a style. */
export const isMailFont = (face: string): boolean => isFamily(tidy(face).toLowerCase());

/** Nobody's style sheet is to be outdone in a mail, so importance goes. */
const tidy = (value: string): string =>
  value
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/ ?([,()]) ?/g, '$1')
    .replace(/ ?! ?important ?$/i, '')
    .trim();
