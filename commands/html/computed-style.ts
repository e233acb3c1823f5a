/** The effect of style and attributes on an element: how its text looks, and whether it is visible. */
import { type CssDeclaration, declarationsIn } from './css.ts';
import { measure, share } from './css-length.ts';
import { classesOf, type Declarations, type Styled, type StyleRules } from './style-rules.ts';
import { lookInside, PLAIN_LOOK, type TextLook } from './text-look.ts';

export interface SeenElement extends Styled {
  readonly look: TextLook;
  /** Its text is struck through. */
  readonly struck: boolean;
  /** Its content is not text of the mail. */
  readonly dropped: boolean;
  readonly hidden: boolean;
}

/** The parent of everything. */
export const OUTERMOST: SeenElement = {
  ...{ name: '', id: '', classes: [], look: PLAIN_LOOK, struck: false, dropped: false, hidden: false },
};

/** Elements whose content is not text of the mail. */
const DROPPED: ReadonlySet<string> = new Set(
  (
    'script style title template object embed applet iframe frame frameset noframes svg math select ' +
    'textarea audio video canvas map xml'
  ).split(' '),
);

export type Attributes = Readonly<Record<string, string>>;

/** An element inside others, the outermost first. */
export function seeElement(
  rules: StyleRules,
  around: readonly SeenElement[],
  name: string,
  attributes: Attributes,
): SeenElement {
  const parent = around.at(-1) ?? OUTERMOST;
  const element = { name, id: attributes['id'] ?? '', classes: classesOf(attributes['class']) };
  const style = rules.declarationsFor(element, around, ofElement(name, attributes), attributes['style']);
  return {
    ...element,
    look: lookInside(parent.look, style, name === 'html'),
    struck: strikes(style),
    dropped: parent.dropped || DROPPED.has(name),
    hidden: parent.hidden || 'hidden' in attributes || hidesAll(style),
  };
}

const OFF_SCREEN_PX = -100;
const TRANSPARENT = 0.05;
/** Smaller boxes show nothing. */
const NOTHING_PX = 1;

/** True when nothing of the element is shown, whatever its children declare. */
function hidesAll(style: Declarations): boolean {
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
const strikes = (style: Declarations): boolean =>
  ['text-decoration', 'text-decoration-line'].some(
    (each) => style.get(each)?.value.includes('line-through') === true,
  );

/** The browsers' default style of these elements (HTML, 15.3). */
const BY_NAME: ReadonlyMap<string, readonly CssDeclaration[]> = new Map(
  Object.entries({
    small: 'font-size:smaller',
    sub: 'font-size:smaller',
    sup: 'font-size:smaller',
    big: 'font-size:larger',
    h1: 'font-size:2em',
    h2: 'font-size:1.5em',
    h3: 'font-size:1.17em',
    h5: 'font-size:.83em',
    h6: 'font-size:.67em',
    s: 'text-decoration:line-through',
    strike: 'text-decoration:line-through',
    del: 'text-decoration:line-through',
    mark: 'color:black;background:yellow',
  }).map(([name, style]) => [name, declarationsIn(style)]),
);
const LINK = declarationsIn('color:#00e');
const FONT_SIZES = ['x-small', 'x-small', 'small', 'medium', 'large', 'x-large', 'xx-large', 'xxx-large'];

/** The style of the element itself and of its presentational attributes; a hex colour may lack its `#`. */
function ofElement(
  name: string,
  { bgcolor, color, text, size, href }: Attributes,
): readonly CssDeclaration[] {
  const foreground = color ?? text;
  const styles = [
    ...(bgcolor === undefined ? [] : [`background-color:${attributeColour(bgcolor)}`]),
    ...(foreground === undefined ? [] : [`color:${attributeColour(foreground)}`]),
    ...(name === 'font' && size !== undefined ? [`font-size:${fontSize(size)}`] : []),
  ];
  return [
    ...(BY_NAME.get(name) ?? []),
    ...(name === 'a' && href !== undefined ? LINK : []),
    ...(styles.length === 0 ? [] : declarationsIn(styles.join(';'))),
  ];
}

/** Reduced to one word, so that it cannot add declarations. */
const attributeColour = (text: string): string =>
  text
    .trim()
    .toLowerCase()
    .replaceAll(/[^\w#(),.%]/g, '_')
    .replace(/^([\da-f]{3}){1,2}$/, '#$&');

/** From 1 to 7, or relative to 3 (HTML, 15.3.4). */
function fontSize(text: string): string {
  const number = Number.parseInt(text, 10) || 3;
  const step = /^\s*[+-]/.test(text) ? 3 + number : number;
  return FONT_SIZES[Math.min(7, Math.max(1, step))] ?? 'medium';
}

/** As in URL parsing for http: slashes after the scheme are optional, and either kind is accepted. */
const REMOTE = /^(?:https?:|[\\/]{2})/i;
const REMOTE_IN_STYLE = /[('"\s]((?:https?:|[\\/]{2})[^'")\s]+)/i;
const REMOTE_IN_SET = /(?:^|[\s,])((?:https?:|[\\/]{2})[^\s,]+)/i;

/** The URL from which a picture or the like would be loaded over the network; null when none is. */
export function remoteSource(name: string, attributes: Attributes): string | null {
  const { src, background, data, poster, href, srcset = '', style } = attributes;
  const urls = [src, background, data, poster, name === 'link' ? href : undefined];
  const remote = urls.find((url) => url !== undefined && REMOTE.test(withoutBlanks(url)));
  const [, inSet] = REMOTE_IN_SET.exec(srcset) ?? [];
  return remote ?? inSet ?? (style === undefined ? null : remoteInStyle(style));
}

function remoteInStyle(style: string): string | null {
  for (const { source } of declarationsIn(style)) {
    const [, remote] = REMOTE_IN_STYLE.exec(` ${source}`) ?? [];
    if (remote !== undefined) return remote;
  }
  return null;
}

/** Removes blanks and controls, which URL parsers ignore, from the start of a URL. */
const withoutBlanks = (url: string): string => url.slice(0, 100).replaceAll(/[\u0000-\u0020]/g, '');
