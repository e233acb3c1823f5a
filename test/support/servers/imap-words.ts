/** The words of an IMAP command (RFC 3501 9), and the answers of a test server. */

/** An atom, string or literal; lists are nested. */
export type Word = string | readonly Word[];

/** Splits whole commands with literals off a byte stream; `onLiteral` requests a synchronising literal. */
export class CommandReader {
  #rest = '';

  /** Bytes as latin1; returns the commands that are now complete. */
  take(chunk: string, onLiteral: () => void): readonly string[] {
    this.#rest += chunk;
    const commands: string[] = [];
    for (let end = this.#end(onLiteral); end !== null; end = this.#end(onLiteral)) {
      commands.push(this.#rest.slice(0, end));
      this.#rest = this.#rest.slice(end + 2);
      this.#asked = 0;
    }
    return commands;
  }

  /** A literal was requested up to this offset. */
  #asked = 0;

  #end(onLiteral: () => void): number | null {
    for (let from = 0; ;) {
      const end = this.#rest.indexOf('\r\n', from);
      if (end < 0) return null;
      const literal = /\{(\d+)(\+?)\}$/.exec(this.#rest.slice(from, end));
      if (literal === null) return end;
      from = end + 2 + Number(literal[1]);
      if (literal[2] === '' && this.#asked < end) {
        this.#asked = end;
        onLiteral();
      }
      if (this.#rest.length < from) return null;
    }
  }
}

/** Splits a command into its words. */
export function wordsOf(command: string): readonly Word[] {
  const at = { index: 0 };
  return listOf(command, at);
}

function listOf(text: string, at: { index: number }): readonly Word[] {
  const words: Word[] = [];
  while (at.index < text.length) {
    const char = text[at.index];
    if (char === ')') {
      at.index += 1;
      return words;
    }
    if (char === ' ') at.index += 1;
    else if (char === '(') {
      at.index += 1;
      words.push(listOf(text, at));
    } else words.push(wordAt(text, at));
  }
  return words;
}

/** A section in brackets is part of its word, including blanks. */
const WORD = /"((?:[^"\\]|\\.)*)"|\{(\d+)\+?\}\r\n|(?:\[[^\]]*\]|[^\s()[])+/y;

function wordAt(text: string, at: { index: number }): string {
  WORD.lastIndex = at.index;
  const match = WORD.exec(text);
  if (match === null) throw new Error(`no word at ${text.slice(at.index, at.index + 20)}`);
  at.index = WORD.lastIndex;
  const [whole, quoted, literal] = match;
  if (quoted !== undefined) return quoted.replaceAll(/\\(.)/g, '$1');
  if (literal === undefined) return whole;
  const from = at.index;
  at.index += Number(literal);
  return text.slice(from, at.index);
}

export const quoted = (text: string | null | undefined): string =>
  text == null ? 'NIL' : `"${text.replaceAll(/["\\]/g, '\\$&')}"`;

export const literal = (bytes: Buffer): string => `{${String(bytes.length)}}\r\n${bytes.toString('latin1')}`;

/** Whether a UID is in a set such as `1:4,7,9:*`; `*` is the highest UID. */
export function isInSet(set: string, uid: number, highest: number): boolean {
  const numberOf = (text: string | undefined): number => (text === '*' ? highest : Number(text));
  return set.split(',').some((range) => {
    const [from, to = from] = range.split(':');
    const [a, b] = [numberOf(from), numberOf(to)];
    return uid >= Math.min(a, b) && uid <= Math.max(a, b);
  });
}

/** Whether a LIST pattern (RFC 3501 6.3.8) matches a path. */
export function matchesPattern(path: string, pattern: string, delimiter: string): boolean {
  const source = pattern.replaceAll(/[.\\+?^${}()|[\]/]/g, '\\$&');
  return new RegExp(`^${source.replaceAll('*', '.*').replaceAll('%', `[^${delimiter}]*`)}$`).test(path);
}
