/** Writing HTML. */

const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

/** Text as HTML text. */
export const escapeText = (text: string): string =>
  text.replaceAll(/[&<>]/g, (character) => ESCAPES[character] ?? '');

const escapeAttribute = (text: string): string =>
  text.replaceAll(/[&<>"]/g, (character) => ESCAPES[character] ?? '');

/** Attributes that say how text is laid out or read; what loads, runs or styles is not among them. */
const KEPT: ReadonlySet<string> = new Set([
  'href', 'src', 'alt', 'title', 'dir', 'lang', 'align', 'valign', 'colspan', 'rowspan', 'start', 'type',
]); // prettier-ignore

/** Names that end a tag early would change what comes after it. */
const NAME = /^[a-z][a-z0-9]{0,20}$/;

/** A start tag with the attributes that are kept; `span` for a name that is none. */
export function startTag(name: string, attributes: Readonly<Record<string, string>>): string {
  const kept = Object.entries(attributes).filter(([key]) => KEPT.has(key));
  const written = kept.map(([key, value]) => ` ${key}="${escapeAttribute(value)}"`).join('');
  return `<${tagName(name)}${written}>`;
}

/** The end tag that belongs to `startTag(name)`. */
export const endTag = (name: string): string => `</${tagName(name)}>`;

const tagName = (name: string): string => (NAME.test(name) ? name : 'span');
