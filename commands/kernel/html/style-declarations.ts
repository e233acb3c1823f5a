/** The little of CSS that decides whether text can be seen. Everything here is linear in the length of its input. */
import { type Colour, over, share, writtenColour } from './css-colour.ts';
import { plainCss } from './css-text.ts';

/** Values of the properties below, lower case, without `!important`. */
export type Declarations = ReadonlyMap<string, string>;

const PROPERTIES: ReadonlySet<string> = new Set([
  'display', 'visibility', 'opacity', 'font', 'font-size', 'max-height', 'height', 'max-width', 'width', 'overflow',
  'overflow-x', 'overflow-y', 'position', 'left', 'top', 'right', 'bottom', 'text-indent', 'color', 'background',
  'background-color', 'mso-hide', 'clip', 'clip-path', 'filter', '-webkit-text-fill-color',
]); // prettier-ignore

/** A style attribute longer than this is not one a person reads by. */
const MAX_DECLARATION_CHARS = 4_000;
const MAX_DECLARATIONS = 100;

/** The declarations of a style attribute; a later one of the same property wins, one of importance over all others. */
export const declarationsOf = (text: string): Declarations =>
  declarationsIn(plainCss(text.slice(0, MAX_DECLARATION_CHARS)));

/** The same of CSS that `plainCss` read already. */
export function declarationsIn(plain: string): Declarations {
  const found = new Map<string, string>();
  const important = new Set<string>();
  for (const piece of plain.slice(0, MAX_DECLARATION_CHARS).split(';', MAX_DECLARATIONS)) {
    const declaration = declarationIn(piece);
    if (declaration === null || (important.has(declaration.property) && !declaration.isImportant)) continue;
    if (declaration.isImportant) important.add(declaration.property);
    found.set(declaration.property, declaration.value);
  }
  return found;
}

interface Declaration {
  readonly property: string;
  readonly value: string;
  readonly isImportant: boolean;
}

/** Null for a property that hides nothing. */
function declarationIn(piece: string): Declaration | null {
  const colon = piece.indexOf(':');
  const property = piece.slice(0, Math.max(0, colon)).trim().toLowerCase();
  if (!PROPERTIES.has(property)) return null;
  const [written = '', ...marks] = piece
    .slice(colon + 1)
    .toLowerCase()
    .split('!');
  const [value, isImportant] = [written.trim(), marks.some((mark) => mark.trim() === 'important')];
  if (property !== 'font') return { property, value, isImportant };
  const size = sizeInFont(value);
  return size === null ? null : { property: 'font-size', value: size, isImportant };
}

/** The size in a `font`, which stands before a slash or the family; a bare number there is a weight. */
function sizeInFont(value: string): string | null {
  const sizes = value.split(/\s+/, 8).map((word) => word.split('/', 1).join(''));
  return sizes.find((word) => NAMED_SIZE.test(word) || isSize(word)) ?? null;
}

const isSize = (word: string): boolean =>
  pixels(word) !== null && (/[a-z%]$/.test(word) || Number(word) === 0);

const NAMED_SIZE = /^(x+-)?(small|large)$|^medium$/;

const PIXELS_PER: Readonly<Record<string, number>> = {
  '': 1, px: 1, pt: 4 / 3, pc: 16, in: 96, cm: 37.8, mm: 3.78, q: 0.94, em: 16, rem: 16, ex: 8, ch: 8, '%': 1,
  vw: 10, vh: 10, vmin: 10, vmax: 10,
}; // prettier-ignore

const LENGTH = /^([+-]?\d*\.?\d+(?:e[+-]?\d+)?)(px|pt|pc|in|cm|mm|q|r?em|ex|ch|%|vw|vh|vmin|vmax)?$/;

/** A length in CSS pixels, roughly; null when it is none. */
function pixels(value: string | undefined): number | null {
  const [, number, unit = ''] = LENGTH.exec(value ?? '') ?? [];
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
  const [, filtered = '1'] = /opacity\(([^)]*)\)/.exec(value('filter')) ?? [];
  if (Math.min(share(value('opacity')), share(filtered.trim())) < TRANSPARENT) return true;
  if (isBelow(style.get('text-indent'), OFF_SCREEN_PX)) return true;
  if (/^inset\((50|100)%/.test(value('clip-path')) || /^rect\((0(px)?[\s,]*){4}\)/.test(value('clip')))
    return true;
  return isFolded(style) || isOffScreen(style);
}

const isBelow = (value: string | undefined, limit: number): boolean => {
  const length = pixels(value);
  return length !== null && length < limit;
};

/** What goes beyond its box is not seen, or not without scrolling. */
const CUTS = /hidden|clip|auto|scroll/;

function isFolded(style: Declarations): boolean {
  const isNothing = (property: string): boolean => {
    const length = pixels(style.get(property));
    return length !== null && length < READABLE_PX;
  };
  const cuts = ['overflow', 'overflow-x', 'overflow-y'].some((each) => CUTS.test(style.get(each) ?? ''));
  return cuts && ['max-height', 'height', 'max-width', 'width'].some(isNothing);
}

function isOffScreen(style: Declarations): boolean {
  const position = style.get('position') ?? '';
  if (position !== 'absolute' && position !== 'fixed') return false;
  return ['left', 'top', 'right', 'bottom'].some((side) => isBelow(style.get(side), OFF_SCREEN_PX));
}

/** A colour that letters are written in; `clear` = nothing of it can be seen, null = not known. */
type Ink = Colour | 'clear' | null;

/** What children take over of how text looks. */
export interface TextLook {
  readonly tooSmall: boolean;
  readonly invisible: boolean;
  readonly colour: Ink;
  /** In place of the colour where it is named. */
  readonly fill: Ink | undefined;
  /** Null = not known. */
  readonly background: Colour | null;
}

const WHITE: Colour = [255, 255, 255];
const BLACK: Colour = [0, 0, 0];
/** How text looks where nothing is said: black on white. */
export const PLAIN_LOOK: TextLook = {
  ...{ tooSmall: false, invisible: false, colour: BLACK, fill: undefined, background: WHITE },
};

/** Colours nearer than this, all channels together, are one to the eye. */
const SAME_COLOUR = 24;

/** True when text of this look cannot be read. */
export function isUnreadable({ tooSmall, invisible, colour, fill = colour, background }: TextLook): boolean {
  if (tooSmall || invisible || fill === 'clear') return true;
  if (fill === null || background === null) return false;
  return fill.reduce((sum, channel, at) => sum + Math.abs(channel - (background[at] ?? 0)), 0) < SAME_COLOUR;
}

/** How text looks inside an element with these declarations. */
export function lookInside(parent: TextLook, style: Declarations): TextLook {
  const visibility = style.get('visibility');
  const ground = style.get('background-color') ?? style.get('background');
  const background = ground === undefined ? parent.background : groundOf(parent.background, ground);
  return {
    tooSmall: sizeInside(parent.tooSmall, style.get('font-size')),
    invisible: visibility === undefined ? parent.invisible : visibility !== 'visible',
    colour: inkOf(parent.colour, style.get('color'), background),
    fill: fillOf(parent.fill, style.get('-webkit-text-fill-color'), background),
    background,
  };
}

/** A share of nothing is nothing; a length of its own makes text readable again. */
function sizeInside(parentTooSmall: boolean, value: string | undefined): boolean {
  const size = pixels(value);
  if (value === undefined || size === null) return parentTooSmall && !NAMED_SIZE.test(value ?? '');
  const isShare = value.endsWith('%') || /\dr?em$|ex$/.test(value);
  return isShare ? parentTooSmall || size <= 0 : size <= READABLE_PX;
}

function inkOf(parent: Ink, value: string | undefined, background: Colour | null): Ink {
  if (value === undefined || value === '' || value === 'inherit' || value === 'currentcolor') return parent;
  const written = writtenColour(value);
  if (written === null) return null;
  if (written.alpha < TRANSPARENT) return 'clear';
  return background === null ? written.colour : over(written, background);
}

function fillOf(
  parent: Ink | undefined,
  value: string | undefined,
  background: Colour | null,
): Ink | undefined {
  if (value === undefined || value === 'inherit') return parent;
  return value === 'currentcolor' ? undefined : inkOf(parent ?? null, value, background);
}

/** A picture or a gradient may have any colour. What names none leaves the ground as it was. */
function groundOf(parent: Colour | null, value: string): Colour | null {
  if (/url\(|gradient/.test(value)) return null;
  const words = value.match(/[a-z]+\([^)]*\)|[^\s()]+/g) ?? [];
  const [written] = words.flatMap((word) => writtenColour(word) ?? []);
  if (written === undefined) return value.includes('(') ? null : parent;
  if (written.alpha >= 1) return written.colour;
  return parent === null ? null : over(written, parent);
}
