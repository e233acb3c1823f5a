/**
 * The styles allowed in outgoing mail: colours, fonts, alignment, boxes. Styles that write text, load, move
 * text or cover something are not allowed. Each value is matched as a whole, so no escape, comment or address
 * passes, and no string except font names.
 */
import culori from 'culori/require';

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

/** Only forms that every program reads alike: a program that ignored a value would show another colour. */
const COLOUR = either(
  (value) => Object.hasOwn(culori.colorsNamed, value),
  like(/^#(?:[\da-f]{3}){1,2}$/),
  like(/^rgb\((?:\d{1,3},){2}\d{1,3}\)$/),
  like(/^rgba\((?:\d{1,3},){3}(?:0|1|[01]?\.\d{1,3})\)$/),
  oneOf('transparent inherit'),
);
/** Not negative, which moves text, and not so large that it moves text far. */
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
/** Lines closer than the height of their letters overlap. */
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

/** Symbol fonts show letters as other signs. */
const FAMILY = /^(?:'[\w .-]{1,60}'|"[\w .-]{1,60}"|[\w -]{1,60})$/;
const OF_SIGNS = /dings|^\W?symbol\W?$/;
const isFamily = (value: string): boolean =>
  value.split(',').every((name) => FAMILY.test(name) && !OF_SIGNS.test(name));

/** `style weight size/line family`; the first two in any order. */
function isFont(value: string, element: string): boolean {
  const words = value.split(' ');
  const at = words.findIndex((word) => !FONT_STYLE(word, element) && !WEIGHT(word, element));
  const [size = '', line = 'normal', ...more] = (words[at] ?? '').split('/');
  return (
    more.length === 0 && SIZE(size, element) && LINE(line, element) && isFamily(words.slice(at + 1).join(' '))
  );
}

/** Elements whose height is a minimum; elsewhere taller content would overlap what follows. */
const HIGH = 'img table tr td th hr';
/** A list item without its number would read differently from what is shown. */
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

/** The detection of hidden text does not read longer ones to the end. */
const MAX_STYLE_CHARS = 4_000;
const MAX_DECLARATIONS = 60;

/** The allowed part of an element's style attribute, each property once; may be empty. */
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

/** Normalizes whitespace and removes `!important`, so that a mail overrides no reader's style sheet. */
const tidy = (value: string): string =>
  value
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/ ?([,()]) ?/g, '$1')
    .replace(/ ?! ?important ?$/i, '')
    .trim();
