/** The numbers of lists as readers see them (HTML, 4.4.5 and 4.4.8): `start`, `value`, `reversed` and `type` write text. */
import { escapeText } from '../../commands/html/html-markup.ts';
import type { Words } from './render-mail-sink.ts';

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

/** The lists that are open, each with its items; an item in none belongs to the one around everything. */
export class ListNumbers {
  readonly #open: List[] = [listOf('ul', {})];

  /** True when `close` has to follow. */
  open(name: string, attributes: Attributes): boolean {
    if (!LISTS.has(name)) return false;
    this.#open.push(listOf(name, attributes));
    return true;
  }

  /** An item of the innermost list; `fill` is called when that is closed. */
  item({ value, type }: Attributes, fill: Fill): void {
    this.#open.at(-1)?.items.push({ value: integerOf(value), type, fill });
  }

  /** How many items there are decides where a reversed list begins, so all are numbered at its end. */
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

/** As HTML reads integers: what follows the digits is nothing to it. */
function integerOf(text: string | undefined): number | null {
  const [, digits] = /^[ \t\n\f\r]*([+-]?\d{1,10})/.exec(text ?? '') ?? [];
  return digits === undefined ? null : Number(digits);
}

const NUMBERED = /^[1aAiI]$/;

/** Null for a bullet. A type that is none is not heeded. */
function markerOf(number: number, list: List, ofItem: string | undefined): string | null {
  const type = [ofItem, list.type].find((each) => each !== undefined && NUMBERED.test(each));
  if (!list.isOrdered && (ofItem === undefined || type !== ofItem)) return null;
  return `${numberText(number, type ?? '1')}.`;
}

const wordsOf = (marker: string | null): Words =>
  marker === null ? { html: '', text: '- ' } : { html: `${escapeText(marker)} `, text: `${marker} ` };

/** Where letters and Roman numerals end, digits stand for them (CSS Counter Styles 3). */
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
