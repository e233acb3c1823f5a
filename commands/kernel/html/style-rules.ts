/** The rules of a message's style sheets that may hide text, and which of them hold for an element. */
import { plainCss } from './css-text.ts';
import { type Declarations, declarationsIn, declarationsOf } from './style-declarations.ts';

/** What a selector looks at. */
export interface Styled {
  readonly name: string;
  readonly id: string;
  readonly classes: readonly string[];
}

interface Compound {
  readonly name: string | null;
  readonly id: string | null;
  readonly classes: readonly string[];
}

interface Rule {
  /** The element, then its ancestors from the inside out. */
  readonly compounds: readonly Compound[];
  readonly declarations: Declarations;
}

const MAX_RULES = 2_000;
/** Rules under one class, id or name; more would make every element that has it slow. */
const MAX_PER_KEY = 50;
const MAX_COMPOUNDS = 6;
const MAX_ANCESTORS = 100;
const MAX_CLASSES = 20;

/** The classes of a class attribute. */
export const classesOf = (text: string | undefined): readonly string[] =>
  text === undefined ? [] : text.slice(0, 1_000).split(/\s+/, MAX_CLASSES);

export class StyleRules {
  readonly #rules = new Map<string, Rule[]>();
  #count = 0;

  /**
   * Takes in a style sheet. Rules inside of `@media` and the like hold on some screens only and are left out, as are selectors
   * with attributes or pseudo-classes.
   */
  add(sheet: string): void {
    const css = plainCss(sheet);
    let at = 0;
    for (;;) {
      const open = css.indexOf('{', at);
      if (open < 0 || this.#count >= MAX_RULES) return;
      const selectors = css.slice(at, open).slice(-1_000).trim();
      if (selectors.includes('@')) {
        at = afterBlock(css, open);
        continue;
      }
      const close = css.indexOf('}', open);
      const declarations = declarationsIn(css.slice(open + 1, close < 0 ? undefined : close));
      if (declarations.size > 0) this.#addRule(selectors, declarations);
      if (close < 0) return;
      at = close + 1;
    }
  }

  #addRule(selectors: string, declarations: Declarations): void {
    for (const selector of selectors.split(',', MAX_PER_KEY)) {
      const compounds = compoundsOf(selector);
      const [own] = compounds ?? [];
      if (!compounds || !own) continue;
      const key =
        own.id !== null
          ? `#${own.id}`
          : own.classes[0] !== undefined
            ? `.${own.classes[0]}`
            : (own.name ?? '*');
      const rules = this.#rules.get(key) ?? [];
      if (rules.length >= MAX_PER_KEY) continue;
      rules.push({ compounds, declarations });
      this.#rules.set(key, rules);
      this.#count += 1;
    }
  }

  /** Declarations for an element with these ancestors, outermost first; what its style attribute says wins. */
  declarationsFor(element: Styled, ancestors: readonly Styled[], style: string | undefined): Declarations {
    const own = style === undefined ? NONE : declarationsOf(style);
    if (this.#rules.size === 0) return own;
    const keys = ['*', element.name, ...element.classes.map((name) => `.${name}`), `#${element.id}`];
    const found = keys
      .flatMap((key) => this.#rules.get(key) ?? [])
      .filter((rule) => holds(rule, element, ancestors));
    if (found.length === 0) return own;
    return new Map([...found.flatMap(({ declarations }) => [...declarations]), ...own]);
  }
}

const NONE: Declarations = new Map();

/** After the bracket that closes the one at `open`. */
function afterBlock(css: string, open: number): number {
  let depth = 0;
  for (let at = open; at < css.length; at += 1) {
    if (css[at] === '{') depth += 1;
    else if (css[at] === '}') depth -= 1;
    if (depth === 0) return at + 1;
  }
  return css.length;
}

/** Null for a selector that looks at more than names, classes and ids. */
function compoundsOf(selector: string): readonly Compound[] | null {
  const parts = selector
    .trim()
    .replaceAll(/\s*>\s*/g, ' ')
    .split(/\s+/);
  if (parts.length > MAX_COMPOUNDS) return null;
  const compounds = parts.map(compoundOf);
  return compounds.every((compound) => compound !== null) ? compounds.toReversed() : null;
}

function compoundOf(text: string): Compound | null {
  if (!/^(\*|[a-z][\w-]*)?([.#][\w-]+)*$/i.test(text) || text === '') return null;
  const [name = ''] = /^[^.#]*/.exec(text) ?? [];
  const marks = text.match(/[.#][\w-]+/g) ?? [];
  return {
    name: name === '' || name === '*' ? null : name.toLowerCase(),
    id: marks.find((mark) => mark.startsWith('#'))?.slice(1) ?? null,
    classes: marks.filter((mark) => mark.startsWith('.')).map((mark) => mark.slice(1)),
  };
}

const matches = ({ name, id, classes }: Compound, element: Styled): boolean =>
  (name === null || name === element.name) &&
  (id === null || id === element.id) &&
  classes.every((each) => element.classes.includes(each));

/** `>` is read as any distance: to hide a little too much is counted, to show what is hidden is not. */
function holds({ compounds: [own, ...outer] }: Rule, element: Styled, ancestors: readonly Styled[]): boolean {
  if (own === undefined || !matches(own, element)) return false;
  let left = outer;
  for (const ancestor of ancestors.slice(-MAX_ANCESTORS).toReversed()) {
    const [next, ...rest] = left;
    if (next === undefined) return true;
    if (matches(next, ancestor)) left = rest;
  }
  return left.length === 0;
}
