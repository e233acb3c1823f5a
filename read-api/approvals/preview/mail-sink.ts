/** Writes the parts of a shown mail, as HTML and as text at once. */
import { asHtml, asText, mark, type Piece } from '../../../commands/html/visible-text.ts';
import { escapeText } from '../../../commands/html/html-markup.ts';

/** Elements that are kept, by their name in the source; of all others only the content is. */
const WRITTEN: ReadonlyMap<string, string> = new Map([
  ...'p div blockquote pre ul ol li dl dt dd table tr td th b i em strong u s del code sub sup'
    .split(' ')
    .map((name): [string, string] => [name, name]),
  ['strike', 's'],
  ['ins', 'u'],
  ...['h1', 'h2', 'h3', 'h4', 'h5', 'h6'].map((name): [string, string] => [name, 'h3']),
  ...'section article header footer main center details summary figure address'
    .split(' ')
    .map((name): [string, string] => [name, 'div']),
]);
const INLINE: ReadonlySet<string> = new Set('b i em strong u s del code sub sup td th'.split(' '));

/** Deeper than any mail. */
const MAX_DEPTH = 100;
/** Characters of HTML; nothing is written beyond it. */
const MAX_OUTPUT = 1_500_000;

export const WRITTEN_TAGS: readonly string[] = [...new Set(WRITTEN.values()), 'br', 'hr', 'span'];

/** Text of the gateway, for the page and for the text. */
export interface Words {
  readonly html: string;
  readonly text: string;
}

export const markWords = (text: string): Words => ({
  html: asHtml([mark(text)]),
  text: asText([mark(text)]),
});

export class MailSink {
  readonly #html: string[] = [];
  readonly #text: string[] = [];
  #depth = 0;
  #length = 0;
  #isFull = false;

  /** True when something was left out. */
  get isFull(): boolean {
    return this.#isFull;
  }

  /** Opens an element; true when `close` has to follow. */
  open(name: string): boolean {
    const tag = WRITTEN.get(name);
    if (tag === undefined || this.#depth >= MAX_DEPTH) return false;
    this.#depth += 1;
    this.#put(`<${tag}>`, INLINE.has(tag) ? '' : '\n');
    return true;
  }

  close(name: string): void {
    const tag = WRITTEN.get(name) ?? 'div';
    this.#depth -= 1;
    this.#html.push(`</${tag}>`);
    this.#text.push(tag === 'td' || tag === 'th' ? '  ' : INLINE.has(tag) ? '' : '\n');
  }

  line(name: 'br' | 'hr'): void {
    this.#put(`<${name}>`, name === 'br' ? '\n' : '\n---\n');
  }

  write(pieces: readonly Piece[]): void {
    this.#put(asHtml(pieces), asText(pieces));
  }

  /** For what the page itself already shows. */
  markInText(text: string): void {
    this.#put('', asText([mark(text)]));
  }

  mark(text: string): void {
    this.write([mark(text)]);
  }

  /** Reserves a place for text that is known later; it is filled at most once. */
  reserve(): (words: Words) => void {
    const [html, text] = [this.#html.push('') - 1, this.#text.push('') - 1];
    return (words) => {
      if (this.#isFull || this.#length + words.html.length > MAX_OUTPUT) return;
      this.#length += words.html.length;
      this.#html[html] = words.html;
      this.#text[text] = words.text;
    };
  }

  result(): { readonly html: string; readonly text: string } {
    const text = this.#text
      .join('')
      .replaceAll(/[ \t]*\n[ \t]*/g, '\n')
      .replaceAll(/\n{3,}/g, '\n\n');
    return { html: this.#html.join(''), text: text.trim() };
  }

  #put(html: string, text: string): void {
    if (this.#isFull || this.#length + html.length > MAX_OUTPUT) {
      this.#isFull = true;
      return;
    }
    this.#length += html.length;
    this.#html.push(html);
    this.#text.push(text);
  }
}

/** The numbers of lists as readers see them (HTML, 4.4.5 and 4.4.8): `start`, `value`, `reversed` and `type` write text. */
type Attributes = Readonly<Record<string, string>>;
type Fill = (words: Words) => void;

interface Item {
  /** Its own number; null = one more than that of the item before. */
  readonly value: number | null;
  readonly type: string | undefined;
  readonly fill: Fill;
}

interface List {
  readonly isOrdered: boolean;
  readonly start: number | null;
  readonly isReversed: boolean;
  readonly type: string | undefined;
  readonly items: Item[];
}

const LISTS: ReadonlySet<string> = new Set(['ol', 'ul', 'menu', 'dir']);

/** The open lists with their items; an item outside any list belongs to an implicit one. */
export class ListNumbers {
  readonly #open: List[] = [listOf('ul', {})];

  /** True when `close` has to follow. */
  open(name: string, attributes: Attributes): boolean {
    if (!LISTS.has(name)) return false;
    this.#open.push(listOf(name, attributes));
    return true;
  }

  /** An item of the innermost list; `fill` is called when the list is closed. */
  item({ value, type }: Attributes, fill: Fill): void {
    this.#open.at(-1)?.items.push({ value: integerOf(value), type, fill });
  }

  /** A reversed list starts at its number of items, so items are numbered at its end. */
  close(): void {
    const list = this.#open.pop();
    if (!list) return;
    const step = list.isReversed ? -1 : 1;
    let next = list.start ?? (list.isReversed ? list.items.length : 1);
    for (const { value, type, fill } of list.items) {
      const number = value ?? next;
      next = number + step;
      fill(wordsOf(markerOf(number, list, type)));
    }
  }
}

const listOf = (name: string, { start, reversed, type }: Attributes): List => ({
  isOrdered: name === 'ol',
  start: integerOf(start),
  isReversed: name === 'ol' && reversed !== undefined,
  type,
  items: [],
});

/** As HTML parses integers: text after the digits is ignored. */
function integerOf(text: string | undefined): number | null {
  const [, digits] = /^[ \t\n\f\r]*([+-]?\d{1,10})/.exec(text ?? '') ?? [];
  return digits === undefined ? null : Number(digits);
}

const NUMBERED = /^[1aAiI]$/;

/** Null for a bullet. Unknown types are ignored. */
function markerOf(number: number, list: List, ofItem: string | undefined): string | null {
  const type = [ofItem, list.type].find((each) => each !== undefined && NUMBERED.test(each));
  if (!list.isOrdered && (ofItem === undefined || type !== ofItem)) return null;
  return `${numberText(number, type ?? '1')}.`;
}

const wordsOf = (marker: string | null): Words =>
  marker === null ? { html: '', text: '- ' } : { html: `${escapeText(marker)} `, text: `${marker} ` };

/** Digits outside the range of letters and Roman numerals (CSS Counter Styles 3). */
function numberText(number: number, type: string): string {
  if (type === 'a') return letters(number);
  if (type === 'A') return letters(number).toUpperCase();
  if (type === 'i') return roman(number).toLowerCase();
  return type === 'I' ? roman(number) : String(number);
}

function letters(number: number): string {
  if (number < 1) return String(number);
  let text = '';
  for (let left = number; left > 0; left = Math.floor((left - 1) / 26)) {
    text = String.fromCharCode(97 + ((left - 1) % 26)) + text;
  }
  return text;
}

const ROMAN = [
  [1_000, 'M'], [900, 'CM'], [500, 'D'], [400, 'CD'], [100, 'C'], [90, 'XC'], [50, 'L'], [40, 'XL'], [10, 'X'], [9, 'IX'],
  [5, 'V'], [4, 'IV'], [1, 'I'],
] as const; // prettier-ignore

function roman(number: number): string {
  if (number < 1 || number > 3_999) return String(number);
  let [text, left] = ['', number];
  for (const [worth, numeral] of ROMAN) {
    for (; left >= worth; left -= worth) text += numeral;
  }
  return text;
}
