/**
 * Names that resemble others (Unicode TS 39): letters of several alphabets in one word, and words that read
 * like another.
 */
import { domainToASCII, domainToUnicode } from 'node:url';

/** Alphabets whose letters look alike, or that are rarely mixed legitimately. */
const SCRIPTS =
  'Latin Greek Cyrillic Armenian Hebrew Arabic Cherokee Georgian Coptic Thai Devanagari Han Hiragana Katakana Hangul ' +
  'Bopomofo Lisu Canadian_Aboriginal';
const SCRIPT_OF = SCRIPTS.split(' ').map((name) => ({
  name,
  matches: new RegExp(`\\p{Script=${name}}`, 'u'),
}));

/** Commonly mixed (TS 39, 5.2, "highly restrictive"). */
const TOGETHER: readonly ReadonlySet<string>[] = [
  new Set(['Latin', 'Han', 'Hiragana', 'Katakana']),
  new Set(['Latin', 'Han', 'Bopomofo']),
  new Set(['Latin', 'Han', 'Hangul']),
];

/** True when the letters of a word come from alphabets that are not mixed in one word. */
export function mixesScripts(word: string): boolean {
  const used = SCRIPT_OF.filter(({ matches }) => matches.test(word)).map(({ name }) => name);
  return used.length > 1 && !TOGETHER.some((set) => used.every((name) => set.has(name)));
}

/** Latin letters, each followed by look-alikes from other alphabets. */
const LOOK_ALIKES =
  'aаαɑ bЬƅ cсϲⅽ dԁցⅾ eеҽ gɡ hһհ iіıιɩ jјϳ kκк lӏⅼ mмⅿ nոп oоοօ pрρ qԛզ rг sѕ tтτ uυս vѵνⅴ wԝω xхχⅹ yуγү';
const TAKEN_FOR: ReadonlyMap<string, string> = new Map(
  LOOK_ALIKES.split(' ').flatMap(([latin = '', ...others]) =>
    others.map((other): [string, string] => [other, latin]),
  ),
);

/** Each letter replaced by its Latin look-alike, without accents. */
const inLatin = (word: string): string =>
  Array.from(
    word.toLowerCase().normalize('NFKD').replaceAll(/\p{M}/gu, ''),
    (letter) => TAKEN_FOR.get(letter) ?? letter,
  ).join('');

const AT_A_GLANCE: readonly (readonly [RegExp, string])[] = [
  [/[1i|]/g, 'l'],
  [/0/g, 'o'],
  [/-/g, ''],
  [/rn/g, 'm'],
  [/vv/g, 'w'],
  [/cl/g, 'd'],
];

/** How a name reads at a glance: two names with one skeleton can be mistaken for each other. */
const skeleton = (name: string): string =>
  AT_A_GLANCE.reduce((read, [letters, taken]) => read.replaceAll(letters, taken), inLatin(name));

/** True when a word has no Latin letter but reads entirely as Latin letters. */
const readsAsLatin = (word: string): boolean =>
  /[^\x00-\x7f]/.test(word) && /^[a-z]+$/.test(inLatin(word)) && !/\p{Script=Latin}/u.test(word);

/** A domain in its wire form and its readable form, and a warning when it can deceive; null = no warning. */
interface DomainLook {
  readonly ascii: string;
  readonly unicode: string;
  readonly warning: string | null;
}

/** Inspects a domain; `known` are domains (ASCII) it must not be mistaken for. */
export function lookAtDomain(domain: string, known: ReadonlySet<string> = new Set()): DomainLook {
  const ascii = domainToASCII(domain.toLowerCase()) || domain.toLowerCase();
  const unicode = domainToUnicode(ascii) || ascii;
  return { ascii, unicode, warning: warningOf(ascii, unicode, known) };
}

/** Cached for domains that many others are compared with. */
const shapes = new WeakMap<ReadonlySet<string>, ReadonlyMap<string, string>>();

/** Skeleton → the first of these domains that has it. */
function shapesOf(known: ReadonlySet<string>): ReadonlyMap<string, string> {
  const found =
    shapes.get(known) ??
    new Map([...known].reverse().map((own) => [skeleton(domainToUnicode(own)), own] as const));
  shapes.set(known, found);
  return found;
}

function warningOf(ascii: string, unicode: string, known: ReadonlySet<string>): string | null {
  if (known.has(ascii)) return null;
  const own = shapesOf(known).get(skeleton(unicode));
  if (own !== undefined) return `looks like ${own}, which it is not${foreignLetters(unicode)}`;
  const labels = unicode.split('.');
  if (labels.some(mixesScripts)) return `letters of several alphabets in one word${foreignLetters(unicode)}`;
  if (labels.some(readsAsLatin))
    return `looks like ${labels.map(inLatin).join('.')}, which it is not${foreignLetters(unicode)}`;
  return null;
}

/** Further letters are only counted. */
const MOST_LETTERS = 4;

/** The letters of a name that are not Latin, each once; empty when all are. */
export function foreignLetters(name: string): string {
  const letters = [...new Set(name)].filter(
    (letter) => /\p{L}/u.test(letter) && !/\p{Script=Latin}/u.test(letter),
  );
  if (letters.length === 0) return '';
  const told = letters
    .slice(0, MOST_LETTERS)
    .map((letter) => `“${letter}” (${codePoint(letter)}${scriptOf(letter)})`);
  const more = letters.length > MOST_LETTERS ? ` and ${String(letters.length - MOST_LETTERS)} more` : '';
  return `; not Latin: ${told.join(', ')}${more}`;
}

const codePoint = (letter: string): string =>
  `U+${(letter.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;

function scriptOf(letter: string): string {
  const script = SCRIPT_OF.find(({ matches }) => matches.test(letter));
  return script === undefined ? '' : `, ${script.name}`;
}
