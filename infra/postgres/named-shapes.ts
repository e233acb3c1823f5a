/** Names for statements whose text is put together: a text that comes again is parsed and planned once on each connection. */
import { createHash } from 'node:crypto';
import type { SqlText } from '../../commands/ports/statement.ts';

/** A connection keeps the plan of every name as long as it lives, in about 100 KiB of memory of the database. */
const MOST_NAMES = 32;
/** A text is named when it has come this often: rare ones leave the names to others. */
const NAMED_FROM = 5;
/** Texts that are counted at once. */
const MOST_COUNTED = 1_000;

export class NamedShapes {
  readonly #prefix: string;
  readonly #names = new Map<string, string>();
  readonly #counts = new Map<string, number>();

  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  /** The text under its name; without one while it is rare, and once there are 32 names. */
  named(text: string): SqlText {
    const name = this.#names.get(text) ?? this.#nameOf(text);
    return name === null ? text : { name, text };
  }

  #nameOf(text: string): string | null {
    if (this.#names.size >= MOST_NAMES) return null;
    const count = (this.#counts.get(text) ?? 0) + 1;
    if (count < NAMED_FROM) {
      if (this.#counts.size >= MOST_COUNTED) this.#counts.clear();
      this.#counts.set(text, count);
      return null;
    }
    this.#counts.delete(text);
    const name = `${this.#prefix}_${createHash('sha256').update(text).digest('hex').slice(0, 16)}`;
    this.#names.set(text, name);
    return name;
  }
}
