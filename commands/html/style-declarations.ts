/** The declarations that apply to one element, and whether they hide it with all its content. */
import { share } from './css-colour.ts';
import type { CssDeclaration } from './css.ts';
import { measure } from './css-length.ts';

export type Declarations = ReadonlyMap<string, CssDeclaration>;

/** The winning declaration of each property: the later one, but `!important` over all others. */
export function cascaded(...lists: readonly Iterable<CssDeclaration>[]): Declarations {
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

const OFF_SCREEN_PX = -100;
const TRANSPARENT = 0.05;
/** Smaller boxes show nothing. */
const NOTHING_PX = 1;

/** True when nothing of the element is shown, whatever its children declare. */
export function hidesAll(style: Declarations): boolean {
  const value = (property: string): string => style.get(property)?.value ?? '';
  if (value('display') === 'none' || value('mso-hide') === 'all') return true;
  const [, filtered = '1'] = /opacity\(([^)]*)\)/.exec(value('filter')) ?? [];
  if (Math.min(share(value('opacity')) ?? 1, share(filtered.trim()) ?? 1) < TRANSPARENT) return true;
  if (isBelow(style, 'text-indent', OFF_SCREEN_PX)) return true;
  if (/^inset\((50|100)%/.test(value('clip-path'))) return true;
  if (/^rect\((0(px)?[\s,]*){4}\)/.test(value('clip'))) return true;
  return isFolded(style) || isOffScreen(style);
}

const ROUGHLY = { em: 16, rem: 16, whole: 100 };

function isBelow(style: Declarations, property: string, limit: number): boolean {
  const length = measure(style.get(property)?.nodes ?? [], ROUGHLY);
  return length !== null && length < limit;
}

/** Content beyond the box is not visible, or not without scrolling. */
const CUTS = /hidden|clip|auto|scroll/;

function isFolded(style: Declarations): boolean {
  const cuts = ['overflow', 'overflow-x', 'overflow-y'].some((each) =>
    CUTS.test(style.get(each)?.value ?? ''),
  );
  return (
    cuts && ['max-height', 'height', 'max-width', 'width'].some((each) => isBelow(style, each, NOTHING_PX))
  );
}

function isOffScreen(style: Declarations): boolean {
  const position = style.get('position')?.value ?? '';
  if (position !== 'absolute' && position !== 'fixed') return false;
  return ['left', 'top', 'right', 'bottom'].some((side) => isBelow(style, side, OFF_SCREEN_PX));
}

/** True when the text is struck through. */
export const strikes = (style: Declarations): boolean =>
  ['text-decoration', 'text-decoration-line'].some(
    (each) => style.get(each)?.value.includes('line-through') === true,
  );
