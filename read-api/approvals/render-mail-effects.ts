/** What style and attributes make of text beside hiding it: moved, covered, turned round, written by the style itself. */
import { declarationsIn, isTooLong } from '../../commands/html/css.ts';
import type { Attributes } from '../../commands/html/computed-style.ts';
import { markWords, type Words } from './render-mail-sink.ts';

export interface Effects {
  readonly moves: boolean;
  readonly turnsRound: boolean;
  /** Declarations that put text there. */
  readonly writes: readonly string[];
}

const MOVES =
  /^(?:position|transform|float|order|direction|unicode-bidi|translate|rotate|scale|writing-mode|(?:row|column|flex)-?[a-z]*|grid[a-z-]*)$/;
const WRITES =
  /^(?:content|quotes|list-style(?:-type|-image)?|counter-[a-z]+|text-emphasis(?:-style)?|hyphenate-character|text-overflow)$/;
const WRITES_NOTHING = /^(?:none|auto|disc|circle|square|normal|inherit|initial|unset|clip|ellipsis)$/;
const OVERRIDES = /^(?:isolate-)?(?:bidi-)?override/;

/** Of an element with these attributes; a foot of a table stands beneath all of it, wherever it is written. */
export function effectsOf(name: string, { style = '' }: Attributes): Effects {
  const declarations = declarationsIn(style);
  const turnsRound =
    name === 'bdo' ||
    declarations.some(({ property, value }) => property === 'unicode-bidi' && OVERRIDES.test(value));
  const writes = declarations.filter(
    ({ property, value }) => WRITES.test(property) && !WRITES_NOTHING.test(value),
  );
  const moves =
    isTooLong(style) ||
    declarations.some(
      ({ property, value }) =>
        MOVES.test(property) || (property.startsWith('margin') && /-\.?\d/.test(value)),
    );
  return {
    moves: moves || turnsRound || writes.length > 0 || name === 'tfoot',
    turnsRound,
    writes: writes.map(({ property, source }) => `${property}: ${source}`),
  };
}

export const TURNED_ROUND = 'readers see the text that follows turned round';

const FROM_THE_RIGHT =
  /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Adlam}]/gu;

/** The text in an element that says in which direction it runs. */
export class Direction {
  readonly #mark: ((words: Words) => void) | null;
  #hasText = false;
  /** Letters that run from the right, less all others. */
  #balance = 0;

  /** `mark` writes at the beginning of an element from right to left; null = it runs otherwise. */
  constructor(mark: ((words: Words) => void) | null) {
    this.#mark = mark;
  }

  read(text: string): void {
    if (this.#mark === null) return;
    this.#hasText ||= text.trim() !== '';
    const fromTheRight = text.match(FROM_THE_RIGHT)?.length ?? 0;
    this.#balance += 2 * fromTheRight - (text.match(/\p{L}/gu)?.length ?? 0);
  }

  /** True when readers see its text turned round, as numbers are where no letter runs from the right; marks it then. */
  end(): boolean {
    if (this.#mark === null || !this.#hasText || this.#balance > 0) return false;
    this.#mark(markWords(TURNED_ROUND));
    return true;
  }
}

/** Null for an element that sets none; `bdo` is told of at once. `reserve` takes a place for a mark. */
export function directionOf(
  name: string,
  { dir, style = '' }: Attributes,
  reserve: () => (words: Words) => void,
): Direction | null {
  const styled = declarationsIn(style).findLast(({ property }) => property === 'direction');
  const direction = styled?.value ?? dir?.trim().toLowerCase();
  if (name === 'bdo' || (name === 'bdi' && direction === undefined)) return new Direction(null);
  if (direction === undefined) return null;
  return new Direction(/^rtl\b/.test(direction) ? reserve() : null);
}
