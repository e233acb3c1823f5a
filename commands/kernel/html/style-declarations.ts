/** The little of CSS that decides whether text can be seen. Everything here is linear in the length of its input. */

/** Values of the properties below, lower case, without `!important`. */
export type Declarations = ReadonlyMap<string, string>;

const PROPERTIES: ReadonlySet<string> = new Set([
  'display', 'visibility', 'opacity', 'font-size', 'max-height', 'height', 'max-width', 'width', 'overflow', 'position',
  'left', 'top', 'right', 'bottom', 'text-indent', 'color', 'background', 'background-color', 'mso-hide', 'clip',
  'clip-path',
]); // prettier-ignore

/** A style attribute longer than this is not one a person reads by. */
const MAX_DECLARATION_CHARS = 4_000;
const MAX_DECLARATIONS = 100;

/** The declarations of a style attribute or a rule's block; a later one of the same property wins. */
export function declarationsOf(text: string): Declarations {
  const found = new Map<string, string>();
  const pieces = text.slice(0, MAX_DECLARATION_CHARS).split(';', MAX_DECLARATIONS);
  for (const piece of pieces) {
    const colon = piece.indexOf(':');
    const property = piece.slice(0, Math.max(0, colon)).trim().toLowerCase();
    if (!PROPERTIES.has(property)) continue;
    const value = piece
      .slice(colon + 1)
      .toLowerCase()
      .replace('!important', '')
      .trim();
    found.set(property, value);
  }
  return found;
}

const PIXELS_PER: Readonly<Record<string, number>> = {
  '': 1, px: 1, pt: 4 / 3, pc: 16, in: 96, cm: 37.8, mm: 3.78, em: 16, rem: 16, ex: 8, '%': 1,
}; // prettier-ignore

/** A length in CSS pixels, roughly; null when it is none. */
function pixels(value: string | undefined): number | null {
  const [, number, unit = ''] = /^(-?\d*\.?\d+)(px|pt|pc|in|cm|mm|em|rem|ex|%)?$/.exec(value ?? '') ?? [];
  return number === undefined ? null : Number(number) * (PIXELS_PER[unit] ?? 1);
}

/** Letters of one pixel and below are not read by anybody. */
const READABLE_PX = 1;
const OFF_SCREEN_PX = -100;
const TRANSPARENT = 0.05;

/** True when nothing of the element, whatever its children say, is shown. */
export function hidesAll(style: Declarations): boolean {
  const value = (property: string): string => style.get(property) ?? '';
  if (value('display') === 'none' || value('mso-hide') === 'all') return true;
  if (style.has('opacity') && Number.parseFloat(value('opacity')) < TRANSPARENT) return true;
  if (isBelow(style.get('text-indent'), OFF_SCREEN_PX)) return true;
  if (/^inset\((50|100)%/.test(value('clip-path')) || /^rect\((0(px)?[\s,]*){4}\)/.test(value('clip')))
    return true;
  return isFolded(style) || isOffScreen(style);
}

const isBelow = (value: string | undefined, limit: number): boolean => {
  const length = pixels(value);
  return length !== null && length < limit;
};

function isFolded(style: Declarations): boolean {
  const isNothing = (property: string): boolean => {
    const length = pixels(style.get(property));
    return length !== null && length < READABLE_PX;
  };
  return style.get('overflow') === 'hidden' && ['max-height', 'height', 'max-width', 'width'].some(isNothing);
}

function isOffScreen(style: Declarations): boolean {
  const position = style.get('position') ?? '';
  if (position !== 'absolute' && position !== 'fixed') return false;
  return ['left', 'top', 'right', 'bottom'].some((side) => isBelow(style.get(side), OFF_SCREEN_PX));
}

/** What children take over of how text looks. */
export interface TextLook {
  readonly tooSmall: boolean;
  readonly invisible: boolean;
  /** Null = not known. */
  readonly colour: Colour | null;
  readonly background: Colour | null;
}
export type Colour = readonly [red: number, green: number, blue: number];

const WHITE: Colour = [255, 255, 255];
const BLACK: Colour = [0, 0, 0];
/** How text looks where nothing is said: black on white. */
export const PLAIN_LOOK: TextLook = { tooSmall: false, invisible: false, colour: BLACK, background: WHITE };

/** Colours nearer than this, all channels together, are one to the eye. */
const SAME_COLOUR = 24;

/** True when text of this look cannot be read. */
export function isUnreadable({ tooSmall, invisible, colour, background }: TextLook): boolean {
  if (tooSmall || invisible) return true;
  if (colour === null || background === null) return false;
  return (
    colour.reduce((sum, channel, at) => sum + Math.abs(channel - (background[at] ?? 0)), 0) < SAME_COLOUR
  );
}

/** How text looks inside an element with these declarations. */
export function lookInside(parent: TextLook, style: Declarations): TextLook {
  const visibility = style.get('visibility');
  const colour = style.get('color');
  const ground = style.get('background-color') ?? style.get('background');
  return {
    tooSmall: sizeInside(parent.tooSmall, style.get('font-size')),
    invisible: visibility === undefined ? parent.invisible : visibility !== 'visible',
    colour:
      colour === undefined ? parent.colour : colour === 'transparent' ? parent.background : colourOf(colour),
    background: ground === undefined ? parent.background : groundOf(parent.background, ground),
  };
}

/** A share of nothing is nothing; a length of its own makes text readable again. */
function sizeInside(parentTooSmall: boolean, value: string | undefined): boolean {
  const size = pixels(value);
  if (value === undefined || size === null)
    return parentTooSmall && !/^(x+-)?(small|large)$|^medium$/.test(value ?? '');
  const isShare = value.endsWith('%') || /\dr?em$|ex$/.test(value);
  return isShare ? parentTooSmall || size <= 0 : size <= READABLE_PX;
}

/** A picture or a gradient may have any colour. */
function groundOf(parent: Colour | null, value: string): Colour | null {
  if (/url\(|gradient/.test(value)) return null;
  if (value === 'transparent' || value === 'none' || value === 'inherit' || value === '') return parent;
  const words = value.match(/rgba?\([^)]*\)|[^\s()]+/g) ?? [];
  return words.map(colourOf).find((colour) => colour !== null) ?? null;
}

const NAMED: Readonly<Record<string, Colour>> = {
  white: WHITE, black: BLACK, snow: [255, 250, 250], ivory: [255, 255, 240], whitesmoke: [245, 245, 245],
  ghostwhite: [248, 248, 255], red: [255, 0, 0], green: [0, 128, 0], blue: [0, 0, 255], gray: [128, 128, 128],
  grey: [128, 128, 128], silver: [192, 192, 192], navy: [0, 0, 128],
}; // prettier-ignore

/** A colour as CSS Color 4 writes it in hex, rgb() or a common name; null for any other. */
export function colourOf(value: string): Colour | null {
  const [, hex] = /^#([\da-f]{3,8})$/.exec(value) ?? [];
  if (hex !== undefined) return colourOfHex(hex);
  const [, list] = /^rgba?\(([^)]*)\)$/.exec(value) ?? [];
  if (list === undefined) return NAMED[value] ?? null;
  const [red = NaN, green = NaN, blue = NaN] = list.split(/[\s,/]+/).map(Number.parseFloat);
  return [red, green, blue].some(Number.isNaN) ? null : [red, green, blue];
}

function colourOfHex(hex: string): Colour | null {
  const digits = hex.length < 6 ? hex.replaceAll(/./g, '$&$&') : hex;
  if (digits.length < 6) return null;
  const channel = (at: number): number => Number.parseInt(digits.slice(at, at + 2), 16);
  return [channel(0), channel(2), channel(4)];
}
