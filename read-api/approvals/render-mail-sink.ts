/** Where the parts of a shown mail are put down, as HTML and as text at once. */
import { asHtml, asText, mark, type Piece } from '../../commands/html/visible-text.ts';

/** Elements that are written, by what they are in the source; of every other one only what is inside. */
const WRITTEN: ReadonlyMap<string, string> = new Map([
  ...'p div blockquote pre ul ol li dl dt dd table tr td th b i em strong u s del code sub sup'
    .split(' ')
    .map((name): [string, string] => [name, name]),
  ['strike', 's'],
  ['ins', 'u'],
  ...['h1', 'h2', 'h3', 'h4', 'h5', 'h6'].map((name): [string, string] => [name, 'h3']),
  ...[
    'section',
    'article',
    'header',
    'footer',
    'main',
    'center',
    'details',
    'summary',
    'figure',
    'address',
  ].map((name): [string, string] => [name, 'div']),
]);
const INLINE: ReadonlySet<string> = new Set('b i em strong u s del code sub sup td th'.split(' '));

/** Deeper than any mail. */
const MAX_DEPTH = 100;
/** Characters of HTML; beyond it nothing is put down any more. */
const MAX_OUTPUT = 1_500_000;

export const WRITTEN_TAGS: readonly string[] = [...new Set(WRITTEN.values()), 'br', 'hr', 'span'];

/** Words of the gateway's own, for the page and for the text. */
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

  /** True when something was not put down. */
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

  /** Of what the page shows by itself. */
  markInText(text: string): void {
    this.#put('', asText([mark(text)]));
  }

  mark(text: string): void {
    this.write([mark(text)]);
  }

  /** A place for words that are known later only; they are put there once at most. */
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
