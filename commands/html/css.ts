/**
 * CSS as browsers read it (by css-tree), within limits: comments removed, escapes decoded, invalid parts
 * omitted.
 */
import { type CssNode, type Declaration as DeclarationNode, generate, ident, parse, walk } from 'css-tree';

export interface CssDeclaration {
  /** In lower case. */
  readonly property: string;
  /** In lower case, without `!important`. */
  readonly value: string;
  /** As written, for URLs. */
  readonly source: string;
  /** The parts of the value; empty when it cannot be parsed. */
  readonly nodes: readonly CssNode[];
  readonly isImportant: boolean;
}

/** A longer list of declarations is not meant for readers. */
const MAX_CHARS = 4_000;
const MAX_DECLARATIONS = 100;

/** The rest is not read. */
export const isTooLong = (css: string): boolean => css.length > MAX_CHARS;

const ignored = (): void => undefined;

/** The declarations of a style attribute, in order. */
export function declarationsIn(css: string): readonly CssDeclaration[] {
  const list = parse(css.slice(0, MAX_CHARS), { context: 'declarationList', onParseError: ignored });
  return list.type === 'DeclarationList' ? ofNodes(list.children) : [];
}

function ofNodes(nodes: Iterable<CssNode>): readonly CssDeclaration[] {
  const found: CssDeclaration[] = [];
  for (const node of nodes) {
    if (found.length >= MAX_DECLARATIONS) break;
    if (node.type === 'Declaration') found.push(declarationOf(node));
  }
  return found;
}

function declarationOf({ property, value, important }: DeclarationNode): CssDeclaration {
  walk(value, decode);
  const source = generate(value).slice(0, MAX_CHARS).trim();
  return {
    property: letters(property).toLowerCase(),
    value: source.toLowerCase(),
    source,
    nodes: value.type === 'Value' ? [...value.children] : [],
    isImportant: important !== false,
  };
}

function decode(node: CssNode): void {
  if (node.type === 'Identifier' || node.type === 'Function') node.name = letters(node.name);
  else if (node.type === 'Dimension') node.unit = letters(node.unit);
}

/** An escaped separator is part of a name and separates nothing. */
const letters = (name: string): string => ident.decode(name).replaceAll(/[^\w-]/gu, '_');

export interface CssRule {
  /** The compounds of each: the element itself first, then its ancestors from the inside out. */
  readonly selectors: readonly (readonly Compound[])[];
  readonly declarations: readonly CssDeclaration[];
}

/** The conditions of a selector on one element. */
export interface Compound {
  readonly name: string | null;
  readonly id: string | null;
  readonly classes: readonly string[];
}

/** Media queries that hold on every screen. */
const EVERYWHERE = /^(?:all|screen|only screen|)$/;

/**
 * The rules of a style sheet that hold on every screen, in order. Selectors that use more than names,
 * classes, ids and ancestors are omitted; `>` matches any distance. The errors lean to one side: hiding too
 * much is counted, while showing hidden text is not.
 */
export function rulesIn(sheet: string, mostSelectors: number): readonly CssRule[] {
  const tree = parse(sheet, { onParseError: ignored });
  return tree.type === 'StyleSheet' ? rulesOf(tree.children, mostSelectors) : [];
}

function rulesOf(nodes: Iterable<CssNode>, mostSelectors: number): readonly CssRule[] {
  const rules: CssRule[] = [];
  for (const node of nodes) {
    if (node.type === 'Atrule' && node.block !== null && isEverywhere(node.name, node.prelude)) {
      rules.push(...rulesOf(node.block.children, mostSelectors));
    }
    if (node.type !== 'Rule' || node.prelude.type !== 'SelectorList') continue;
    const selectors = [...node.prelude.children].slice(0, mostSelectors).flatMap((selector) => {
      const compounds = selector.type === 'Selector' ? compoundsOf(selector.children) : null;
      return compounds === null ? [] : [compounds];
    });
    rules.push({ selectors, declarations: ofNodes(node.block.children) });
  }
  return rules;
}

const isEverywhere = (name: string, prelude: CssNode | null): boolean =>
  name.toLowerCase() === 'media' && EVERYWHERE.test(prelude === null ? '' : generate(prelude).toLowerCase());

const ANCESTORS: ReadonlySet<string> = new Set([' ', '>']);

interface Writable {
  name: string | null;
  id: string | null;
  readonly classes: string[];
}

/** Null for a selector that uses more. */
function compoundsOf(parts: Iterable<CssNode>): readonly Compound[] | null {
  const compounds: Writable[] = [];
  let current: Writable | null = null;
  for (const part of parts) {
    if (part.type === 'Combinator') {
      if (!ANCESTORS.has(part.name)) return null;
      current = null;
      continue;
    }
    if (current === null) compounds.push((current = { name: null, id: null, classes: [] }));
    if (part.type === 'ClassSelector') current.classes.push(ident.decode(part.name));
    else if (part.type === 'IdSelector') current.id = ident.decode(part.name);
    else if (part.type === 'TypeSelector') current.name = part.name === '*' ? null : part.name.toLowerCase();
    else return null;
  }
  return compounds.toReversed();
}
