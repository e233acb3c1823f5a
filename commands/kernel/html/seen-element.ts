/** What style and attributes make of an element: how its text looks, whether anything of it can be seen. */
import { plainCss } from './css-text.ts';
import { type Declarations, hidesAll, lookInside, PLAIN_LOOK, type TextLook } from './style-declarations.ts';
import { classesOf, type Styled, type StyleRules } from './style-rules.ts';

export interface SeenElement extends Styled {
  readonly look: TextLook;
  /** Its inside is not text of the mail. */
  readonly dropped: boolean;
  readonly hidden: boolean;
}

/** Around everything. */
export const OUTERMOST: SeenElement = {
  ...{ name: '', id: '', classes: [], look: PLAIN_LOOK, dropped: false, hidden: false },
};

/** Elements whose inside is not text of the mail. */
const DROPPED: ReadonlySet<string> = new Set([
  'script',
  'style',
  'title',
  'template',
  'object',
  'embed',
  'applet',
  'iframe',
  'frame',
  'frameset',
  'noframes',
  'svg',
  'math',
  'select',
  'textarea',
  'audio',
  'video',
  'canvas',
  'map',
  'xml',
]);

export type Attributes = Readonly<Record<string, string>>;

/** An element inside of others, the outermost first. */
export function seeElement(
  rules: StyleRules,
  around: readonly SeenElement[],
  name: string,
  attributes: Attributes,
): SeenElement {
  const parent = around.at(-1) ?? OUTERMOST;
  const element = { name, id: attributes['id'] ?? '', classes: classesOf(attributes['class']) };
  const style = rules.declarationsFor(element, around, attributes['style']);
  return {
    ...element,
    look: lookInside(parent.look, withAttributes(style, attributes)),
    dropped: parent.dropped || DROPPED.has(name),
    hidden: parent.hidden || 'hidden' in attributes || hidesAll(style),
  };
}

/** Colours of before style sheets; those in hex need no mark in front. */
function withAttributes(style: Declarations, { bgcolor, color, text }: Attributes): Declarations {
  const foreground = color ?? text;
  const ofAttributes = [
    ...(bgcolor === undefined ? [] : [['background-color', attributeColour(bgcolor)] as const]),
    ...(foreground === undefined ? [] : [['color', attributeColour(foreground)] as const]),
  ];
  return ofAttributes.length === 0 ? style : new Map([...ofAttributes, ...style]);
}

const attributeColour = (text: string): string =>
  text
    .trim()
    .toLowerCase()
    .replace(/^([\da-f]{3}){1,2}$/, '#$&');

/** As URLs are parsed for http: no slashes are needed behind the scheme, and either kind will do. */
const REMOTE = /^(?:https?:|[\\/]{2})/i;
const REMOTE_IN_STYLE = /[('"\s]((?:https?:|[\\/]{2})[^'")\s]+)/i;
const REMOTE_IN_SET = /(?:^|[\s,])((?:https?:|[\\/]{2})[^\s,]+)/i;

/** Where a picture or the like would be loaded from over the network; null when nothing is. */
export function remoteSource(name: string, attributes: Attributes): string | null {
  const { src, background, data, poster, href, srcset = '', style = '' } = attributes;
  const urls = [src, background, data, poster, name === 'link' ? href : undefined];
  const remote = urls.find((url) => url !== undefined && REMOTE.test(withoutBlanks(url)));
  const [, inSet] = REMOTE_IN_SET.exec(srcset) ?? [];
  const [, inStyle] = REMOTE_IN_STYLE.exec(plainCss(style)) ?? [];
  return remote ?? inSet ?? inStyle ?? null;
}

/** Blanks and controls are no part of a URL wherever they stand in its beginning. */
const withoutBlanks = (url: string): string => url.slice(0, 100).replaceAll(/[\u0000-\u0020]/g, '');
