/** The rules of a message's style sheets, and which of them apply to an element. */
import { type Compound, type CssDeclaration, declarationsIn, rulesIn } from './css.ts';
import { parseInSlices, type TagHandler } from './parse-in-slices.ts';

/** What selectors match on. */
export interface Styled {
  readonly name: string;
  readonly id: string;
  readonly classes: readonly string[];
}

interface Rule {
  /** The element, then its ancestors from the inside out. */
  readonly compounds: readonly Compound[];
  readonly declarations: readonly CssDeclaration[];
}

export type Declarations = ReadonlyMap<string, CssDeclaration>;

/** The winning declaration of each property: the later one, but `!important` over all others. */
function cascaded(...lists: readonly Iterable<CssDeclaration>[]): Declarations {
  const found = new Map<string, CssDeclaration>();
  for (const list of lists) {
    for (const declaration of list) {
      if (found.get(declaration.property)?.isImportant === true && !declaration.isImportant) continue;
      // For sizes the later one wins, in `font` or in `font-size`.
      found.delete(declaration.property);
      found.set(declaration.property, declaration);
    }
  }
  return found;
}

const MAX_RULES = 2_000;
/** Rules under one class, id or name; more would slow down every element that has it. */
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

  /** Adds a style sheet. */
  add(sheet: string): void {
    for (const { selectors, declarations } of rulesIn(sheet, MAX_PER_KEY)) {
      for (const compounds of selectors) this.#addRule({ compounds, declarations });
    }
  }

  #addRule(rule: Rule): void {
    const { compounds, declarations } = rule;
    const [own] = compounds;
    if (own === undefined || compounds.length > MAX_COMPOUNDS || declarations.length === 0) return;
    const key = keyOf(own);
    const rules = this.#rules.get(key) ?? [];
    if (rules.length >= MAX_PER_KEY || this.#count >= MAX_RULES) return;
    rules.push(rule);
    this.#rules.set(key, rules);
    this.#count += 1;
  }

  /**
   * Declarations for an element with these ancestors, outermost first; its style attribute takes precedence.
   */
  declarationsFor(
    element: Styled,
    ancestors: readonly Styled[],
    ofElement: readonly CssDeclaration[],
    style: string | undefined,
  ): Declarations {
    const own = style === undefined ? [] : declarationsIn(style);
    if (this.#rules.size === 0) return cascaded(ofElement, own);
    const keys = ['*', element.name, ...element.classes.map((name) => `.${name}`), `#${element.id}`];
    const found = keys
      .flatMap((key) => this.#rules.get(key) ?? [])
      .filter((rule) => holds(rule, element, ancestors));
    return cascaded(ofElement, ...found.map(({ declarations }) => declarations), own);
  }
}

function keyOf({ id, classes: [first], name }: Compound): string {
  if (id !== null) return `#${id}`;
  return first === undefined ? (name ?? '*') : `.${first}`;
}

const matches = ({ name, id, classes }: Compound, element: Styled): boolean =>
  (name === null || name === element.name) &&
  (id === null || id === element.id) &&
  classes.every((each) => element.classes.includes(each));

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

const MAX_SHEET_CHARS = 200_000;

/**
 * The rules of all style sheets. These may follow the text they hide, so a first pass over the HTML collects
 * them.
 */
export async function styleRulesOf(html: string): Promise<StyleRules> {
  const sheets = new SheetCollector();
  if (/<style/i.test(html)) await parseInSlices(html, sheets);
  return sheets.rules;
}

class SheetCollector implements TagHandler {
  readonly rules = new StyleRules();
  openTags = 0;
  #sheet: string | null = null;
  #length = 0;

  onopentag(name: string): void {
    this.openTags += 1;
    if (name === 'style') this.#sheet = '';
  }

  ontext(text: string): void {
    if (this.#sheet === null || this.#length > MAX_SHEET_CHARS) return;
    this.#sheet += text;
    this.#length += text.length;
  }

  onclosetag(name: string): void {
    this.openTags -= 1;
    if (name !== 'style' || this.#sheet === null) return;
    this.rules.add(this.#sheet);
    this.#sheet = null;
  }
}
