/** How text looks inside elements: its size, colour and background, and whether a person can read it. */
import { type CssNode, generate } from 'css-tree';
import type { Rgb } from 'culori';
// The bundle: the package's modules are 250 files.
import culori from 'culori/require';
import type { CssDeclaration } from './css.ts';
import { measure, share } from './css-length.ts';
import type { Declarations } from './style-rules.ts';

const { blend, clampRgb, converter, wcagContrast } = culori;

/** Channels from 0 to 1; `alpha` is 0 for transparent, 1 for opaque. */
type Colour = Required<Rgb>;

/** The inherited part of how text looks. */
export interface TextLook {
  /** CSS pixels; null = unknown. */
  readonly size: number | null;
  /** The size of the root element, the base of `rem`. */
  readonly rootSize: number;
  /** The product of `zoom` and `scale`. */
  readonly scale: number;
  /** Of the element including its ancestors, 0 to 1. */
  readonly opacity: number;
  readonly invisible: boolean;
  /** Null = unknown. */
  readonly colour: Colour | null;
  /** Replaces the colour when set. */
  readonly fill: Colour | null | undefined;
  readonly ground: Colour;
  /** A picture of any colour covers the background when pictures are loaded. */
  readonly isPictured: boolean;
}

const BLACK: Colour = { mode: 'rgb', r: 0, g: 0, b: 0, alpha: 1 };
const WHITE: Colour = { ...BLACK, r: 1, g: 1, b: 1 };
const NORMAL_PX = 16;
/** How text looks without any style: black on white. */
export const PLAIN_LOOK: TextLook = {
  ...{ size: NORMAL_PX, rootSize: NORMAL_PX, scale: 1, opacity: 1, invisible: false },
  ...{ colour: BLACK, fill: undefined, ground: WHITE, isPictured: false },
};

/** `hidden` cannot be seen; `small` and `faint` can be overlooked. */
export type Sight = 'seen' | 'small' | 'faint' | 'hidden';

/** Letters up to this height are dots. */
const DOT_PX = 1;
const SMALL_PX = 8;
const FAINT_CONTRAST = 2;
const CLEAR = 0.05;
/** Colours closer than this, summed over all channels, look the same. */
const SAME_COLOUR = 24 / 255;

export function sightOf(look: TextLook): Sight {
  const size = look.size === null ? null : look.size * look.scale;
  const ofColour = sightOfColour(look);
  if (look.invisible || ofColour === 'hidden' || (size !== null && size <= DOT_PX)) return 'hidden';
  return size === null || size < SMALL_PX ? 'small' : ofColour;
}

function sightOfColour({ colour, fill = colour, opacity, ground, isPictured }: TextLook): Sight {
  if (fill === null) return 'faint';
  if (fill.alpha < CLEAR) return 'hidden';
  const ink = over({ ...fill, alpha: fill.alpha * opacity }, ground);
  if (!isPictured && distance(ink, ground) < SAME_COLOUR) return 'hidden';
  return wcagContrast(ink, ground) < FAINT_CONTRAST ? 'faint' : 'seen';
}

const distance = (one: Colour, other: Colour): number =>
  Math.abs(one.r - other.r) + Math.abs(one.g - other.g) + Math.abs(one.b - other.b);

const over = (ink: Colour, ground: Colour): Colour => ({ ...ground, ...blend([ground, ink]) });

const rgb = converter('rgb');
/** No colour is longer; the time to read one is quadratic in its digits. */
const MAX_COLOUR_CHARS = 100;

/** A colour as written (CSS Color 4), in lower case; null for anything else. */
function colourOf(value: string): Colour | null {
  const written = value.length > MAX_COLOUR_CHARS ? undefined : rgb(value);
  return written === undefined ? null : clampRgb({ ...BLACK, ...written });
}

/** How text looks inside an element with these declarations. `isRoot`: the element is the base of `rem`. */
export function lookInside(parent: TextLook, style: Declarations, isRoot = false): TextLook {
  if (style.size === 0) return parent;
  const size = sizeInside(parent, style);
  const visibility = style.get('visibility')?.value;
  return {
    size,
    rootSize: isRoot ? (size ?? 0) : parent.rootSize,
    scale: parent.scale * scaleOf(style),
    opacity: parent.opacity * between01(share(style.get('opacity')?.value ?? '1') ?? 1),
    invisible: visibility === undefined ? parent.invisible : visibility !== 'visible',
    colour: inkOf(parent.colour, style.get('color')),
    fill: fillOf(parent.fill, style.get('-webkit-text-fill-color')),
    ...groundOf(parent, style),
  };
}

const between01 = (number: number): number => Math.min(1, Math.max(0, number));

const KEYWORD_PX: ReadonlyMap<string, number> = new Map(
  Object.entries({
    'xx-small': 9,
    'x-small': 10,
    small: 13,
    medium: 16,
    large: 18,
    'x-large': 24,
    'xx-large': 32,
    'xxx-large': 48,
    initial: NORMAL_PX,
  }),
);
const STEP = 1.2;
const TAKEN_OVER = /^(?:inherit|unset|revert|revert-layer)$/;

/** The later of `font-size` and `font`. */
function sizeInside(parent: TextLook, style: Declarations): number | null {
  let size = parent.size;
  for (const { property, value, nodes } of style.values()) {
    if (property !== 'font-size' && property !== 'font') continue;
    const [node, ...more] = property === 'font' ? sizesInFont(nodes) : nodes;
    if (TAKEN_OVER.test(value) || (property === 'font' && node === undefined)) continue;
    size = node === undefined || (property === 'font-size' && more.length > 0) ? null : sizeOf(node, parent);
  }
  return size;
}

function sizeOf(node: CssNode, parent: TextLook): number | null {
  const word = node.type === 'Identifier' ? node.name.toLowerCase() : '';
  if (word === 'smaller') return parent.size === null ? null : parent.size / STEP;
  if (word === 'larger') return parent.size === null ? null : parent.size * STEP;
  if (word !== '') return KEYWORD_PX.get(word) ?? null;
  // A share of an unknown size is unknown as well.
  const em = parent.size ?? Number.NaN;
  const size = measure([node], { em, rem: parent.rootSize, whole: em });
  return size === null || Number.isNaN(size) ? null : size;
}

/** The size precedes a slash or the family; a number other than 0 there is a weight. */
function sizesInFont(nodes: readonly CssNode[]): readonly CssNode[] {
  return nodes.filter((node) => {
    if (node.type === 'Identifier') return /^(?:x*-?(?:small|large)|medium|smaller|larger)$/i.test(node.name);
    return node.type === 'Number' ? Number(node.value) === 0 : SIZES.has(node.type);
  });
}

const SIZES: ReadonlySet<string> = new Set(['Dimension', 'Percentage', 'Function']);

function scaleOf(style: Declarations): number {
  const value = (property: string): string => style.get(property)?.value ?? '';
  const [, transformed = ''] = /scale(?:3d|x|y)?\(([^),]*)/.exec(value('transform')) ?? [];
  const [scaled = ''] = value('scale').split(' ');
  const factors = [value('zoom'), transformed, scaled].map((each) => share(each) ?? 1);
  return Math.abs(factors.reduce((product, factor) => product * factor, 1));
}

function inkOf(parent: Colour | null, declaration: CssDeclaration | undefined): Colour | null {
  if (declaration === undefined) return parent;
  const { value } = declaration;
  if (value === '' || value === 'currentcolor' || TAKEN_OVER.test(value)) return parent;
  return value === 'initial' ? BLACK : colourOf(value);
}

function fillOf(parent: TextLook['fill'], declaration: CssDeclaration | undefined): TextLook['fill'] {
  if (declaration === undefined || TAKEN_OVER.test(declaration.value)) return parent;
  return declaration.value === 'currentcolor' ? undefined : inkOf(parent ?? null, declaration);
}

const PICTURES = /url\(|gradient\(|image/;

/** A value without a colour leaves the background unchanged. */
function groundOf(parent: TextLook, style: Declarations): Pick<TextLook, 'ground' | 'isPictured'> {
  let { ground, isPictured } = parent;
  for (const { property, value, nodes } of style.values()) {
    if (property !== 'background' && property !== 'background-color' && property !== 'background-image')
      continue;
    if (PICTURES.test(value)) isPictured = true;
    const [written] = nodes.flatMap((node) => colourOf(generate(node).toLowerCase()) ?? []);
    if (written === undefined) continue;
    ground = over(written, ground);
    if (written.alpha >= 1 && !PICTURES.test(value)) isPictured = false;
  }
  return { ground, isPictured };
}
