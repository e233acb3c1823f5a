/** Writes HTML. */

/** The name of the gateway on its pages and in its mails. */
export const PRODUCT = 'Mailbox Gateway';

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Text escaped for any place in HTML, also in an attribute. */
export const escaped = (text: string): string =>
  text.replaceAll(/[&<>"']/g, (character) => ESCAPES[character] ?? '');

/** Text escaped for HTML. */
export const escapeText = (text: string): string =>
  text.replaceAll(/[&<>]/g, (character) => ESCAPES[character] ?? '');

const escapeAttribute = (text: string): string =>
  text.replaceAll(/[&<>"]/g, (character) => ESCAPES[character] ?? '');

/** Attributes for layout and reading; none that load, run or style. */
const KEPT: ReadonlySet<string> = new Set([
  'href', 'src', 'alt', 'title', 'dir', 'lang', 'align', 'valign', 'colspan', 'rowspan', 'start', 'type',
]); // prettier-ignore

/** Names that end a tag early would change what follows. */
const NAME = /^[a-z][a-z0-9]{0,20}$/;

/** A start tag with the kept attributes; `span` for an invalid name. */
export function startTag(name: string, attributes: Readonly<Record<string, string>>): string {
  const kept = Object.entries(attributes).filter(([key]) => KEPT.has(key));
  const written = kept.map(([key, value]) => ` ${key}="${escapeAttribute(value)}"`).join('');
  return `<${tagName(name)}${written}>`;
}

/** The end tag for `startTag(name)`. */
export const endTag = (name: string): string => `</${tagName(name)}>`;

const tagName = (name: string): string => (NAME.test(name) ? name : 'span');

/** The target of a link in a mail. */

export interface Link {
  readonly href: string;
  /**
   * Host and port, names in their ASCII form so that look-alikes are visible; null for addresses and
   * telephone numbers.
   */
  readonly host: string | null;
}

const WITH_HOST: ReadonlySet<string> = new Set(['http:', 'https:']);
const WITHOUT_HOST: ReadonlySet<string> = new Set(['mailto:', 'tel:']);
const MAX_HREF_CHARS = 4_000;

/** The link, or null when a person could not follow it (`javascript:`, relative, malformed). */
export function linkOf(href: string | undefined): Link | null {
  if (href === undefined || href.length > MAX_HREF_CHARS) return null;
  const url = URL.parse(href.trim());
  if (url === null) return null;
  if (WITHOUT_HOST.has(url.protocol)) return { href: url.href, host: null };
  return WITH_HOST.has(url.protocol) && url.host !== '' ? { href: url.href, host: url.host } : null;
}

const HOST_LIKE = /(?:^|[\s/@(<])((?:[\p{L}\p{N}-]{1,63}\.){1,8}\p{L}{2,24})(?=$|[\s/:?#)>,])/gu;

/** True when a text names a host, but not this one: `bank.example` on a link to `evil.example`. */
export function namesOtherHost(text: string, host: string): boolean {
  const own = host.replace(/:\d+$/, '').toLowerCase();
  const named = [...text.slice(0, 300).toLowerCase().matchAll(HOST_LIKE)].map(([, name = '']) => ascii(name));
  const isOwn = (name: string): boolean =>
    own === name || own.endsWith(`.${name}`) || name.endsWith(`.${own}`);
  return named.length > 0 && !named.some(isOwn);
}

const ascii = (name: string): string => URL.parse(`http://${name}`)?.hostname ?? name;
