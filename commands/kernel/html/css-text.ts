/** CSS as it is understood: comments out, escapes decoded (CSS Syntax 3, 4.3). Linear in the length of its input. */

/** Inside of a string or an address these separate nothing. */
const SEPARATOR = /[;{}]/;
/** Written as an escape these are letters of a name, and separate nothing either. */
const NO_LETTER = /[;{}"']/;
const ESCAPE = /\\(?:([\da-f]{1,6})\s?|\r?\n|([^])|$)/iy;
const QUOTED = /\s*["']/y;

/** The text with each comment as a blank; what separates declarations stands nowhere but between them. */
export function plainCss(text: string): string {
  return /[\\"'(]|\/\*/.test(text) ? new CssReader(text).read() : text;
}

/** Written by hand: patterns for comments and strings would look for the end of every one anew. */
class CssReader {
  readonly #text: string;
  #out = '';
  /** The end of what is written; cut from the whole at each bracket it would be copied each time. */
  #last = '';
  #at = 0;
  /** What ends the string or the address that is being read; null = in neither. */
  #end: string | null = null;

  constructor(text: string) {
    this.#text = text;
  }

  read(): string {
    while (this.#at < this.#text.length) this.#step(this.#text.charAt(this.#at));
    return this.#out;
  }

  #step(character: string): void {
    if (character === '\\') this.#escape();
    else if (this.#end !== null) this.#inside(character);
    else if (this.#text.startsWith('/*', this.#at)) this.#comment();
    else this.#outside(character);
  }

  #escape(): void {
    const [written = '\\', hex, other = ''] = this.#match(ESCAPE) ?? [];
    const letter = hex === undefined ? other : letterOf(Number.parseInt(hex, 16));
    this.#write(NO_LETTER.test(letter) ? '_' : letter);
    this.#at += written.length;
  }

  #comment(): void {
    const close = this.#text.indexOf('*/', this.#at + 2);
    this.#write(' ');
    this.#at = close < 0 ? this.#text.length : close + 2;
  }

  /** A line end breaks off a string. */
  #inside(character: string): void {
    if (character === this.#end || (character === '\n' && this.#end !== ')')) this.#end = null;
    this.#write(SEPARATOR.test(character) ? ' ' : character);
    this.#at += 1;
  }

  #outside(character: string): void {
    this.#write(character);
    this.#at += 1;
    if (character === '"' || character === "'") this.#end = character;
    // Without quotes an address goes on to the bracket, whatever is in it.
    else if (character === '(' && /url\($/i.test(this.#last) && !this.#match(QUOTED)) this.#end = ')';
  }

  #write(text: string): void {
    this.#out += text;
    this.#last = (this.#last + text).slice(-4);
  }

  #match(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.#at;
    return pattern.exec(this.#text);
  }
}

const isSurrogate = (code: number): boolean => code >= 0xd800 && code <= 0xdfff;

const letterOf = (code: number): string =>
  code === 0 || code > 0x10ffff || isSurrogate(code) ? '\ufffd' : String.fromCodePoint(code);
