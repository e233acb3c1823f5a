/** Evaluates lengths and numbers of styles (CSS Values 4, 5 and 10). */
import type { CssNode } from 'css-tree';

/** The values of relative units, in CSS pixels. */
export interface Measures {
  readonly em: number;
  readonly rem: number;
  /** The length of 100 %. */
  readonly whole: number;
}

/** A small phone: text that is readable there is readable elsewhere. */
const [WIDTH, HEIGHT] = [320, 480];

const PIXELS_PER = new Map(
  Object.entries({
    px: 1,
    pt: 4 / 3,
    pc: 16,
    in: 96,
    cm: 96 / 2.54,
    mm: 96 / 25.4,
    q: 96 / 101.6,
    vw: WIDTH / 100,
    vi: WIDTH / 100,
    vmin: WIDTH / 100,
    vh: HEIGHT / 100,
    vb: HEIGHT / 100,
    vmax: HEIGHT / 100,
  }),
);

const PER_EM = new Map(Object.entries({ em: 1, ex: 0.5, ch: 0.5, cap: 0.7, ic: 1, lh: 1.2 }));

/**
 * The single length or number of a value; null when it is unknown. A number without a unit counts as pixels,
 * as in old mail.
 */
export function measure(nodes: readonly CssNode[], measures: Measures): number | null {
  const [only, ...more] = nodes;
  return only === undefined || more.length > 0 ? null : sizeOf(only, measures);
}

function sizeOf(node: CssNode, measures: Measures): number | null {
  switch (node.type) {
    case 'Number':
      return Number(node.value);
    case 'Percentage':
      return (Number(node.value) / 100) * measures.whole;
    case 'Dimension':
      return lengthOf(Number(node.value), node.unit.toLowerCase(), measures);
    case 'Parentheses':
      return sumOf([...node.children], measures);
    case 'Function':
      return calculated(node.name.toLowerCase(), [...node.children], measures);
    default:
      return null;
  }
}

function lengthOf(number: number, unit: string, { em, rem }: Measures): number | null {
  const ofFont = PER_EM.get(unit);
  if (ofFont !== undefined) return number * em * ofFont;
  const ofRoot = unit.startsWith('r') ? PER_EM.get(unit.slice(1)) : undefined;
  if (ofRoot !== undefined) return number * rem * ofRoot;
  const pixels = PIXELS_PER.get(unit.replace(/^[sld](?=v)/, ''));
  return pixels === undefined ? null : number * pixels;
}

function calculated(name: string, children: readonly CssNode[], measures: Measures): number | null {
  const args = splitAt(children, ',').map((part) => sumOf(part, measures));
  const known = args.filter((each) => each !== null);
  if (known.length !== args.length) return null;
  const [first = 0, second = 0, third = 0] = known;
  switch (name) {
    case 'calc':
    case '-webkit-calc':
      return first;
    case 'min':
      return Math.min(...known);
    case 'max':
      return Math.max(...known);
    case 'clamp':
      return Math.max(first, Math.min(second, third));
    default:
      return null;
  }
}

const isOperator = (node: CssNode, sign: string): boolean =>
  node.type === 'Operator' && node.value.trim() === sign;

function splitAt(nodes: readonly CssNode[], sign: string): readonly (readonly CssNode[])[] {
  const parts: CssNode[][] = [[]];
  for (const node of nodes) {
    if (isOperator(node, sign)) parts.push([]);
    else parts.at(-1)?.push(node);
  }
  return parts;
}

/** A sum of products; null when a part is unknown. */
function sumOf(nodes: readonly CssNode[], measures: Measures): number | null {
  const terms: { readonly sign: number; readonly nodes: CssNode[] }[] = [{ sign: 1, nodes: [] }];
  for (const node of nodes) {
    if (isOperator(node, '+')) terms.push({ sign: 1, nodes: [] });
    else if (isOperator(node, '-')) terms.push({ sign: -1, nodes: [] });
    else terms.at(-1)?.nodes.push(node);
  }
  const values = terms.map((term) => term.sign * productOf(term.nodes, measures));
  const sum = values.reduce((total, value) => total + value, 0);
  return Number.isFinite(sum) ? sum : null;
}

/** From the left; NaN when a part is unknown. */
function productOf(nodes: readonly CssNode[], measures: Measures): number {
  const [first, ...rest] = nodes;
  let product = (first && sizeOf(first, measures)) ?? Number.NaN;
  let isDivided = false;
  for (const node of rest) {
    if (node.type === 'Operator') {
      isDivided = node.value.trim() === '/';
      continue;
    }
    const value = sizeOf(node, measures) ?? Number.NaN;
    product = isDivided ? product / value : product * value;
  }
  return product;
}

/** A number or a percentage as a share of one; null for anything else. */
export function share(value: string): number | null {
  const [, number, percent] = /^([+-]?\d*\.?\d+(?:e[+-]?\d+)?)(%?)$/.exec(value) ?? [];
  return number === undefined ? null : Number(number) / (percent === '%' ? 100 : 1);
}
