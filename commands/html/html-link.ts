/** Where a link of a mail leads. */

export interface Link {
  readonly href: string;
  /** Host and port, names in their ASCII form so that look-alikes show; null for addresses and telephone numbers. */
  readonly host: string | null;
}

const WITH_HOST: ReadonlySet<string> = new Set(['http:', 'https:']);
const WITHOUT_HOST: ReadonlySet<string> = new Set(['mailto:', 'tel:']);
const MAX_HREF_CHARS = 4_000;

/** The link, or null when it leads nowhere a person could follow it to (`javascript:`, relative, malformed). */
export function linkOf(href: string | undefined): Link | null {
  if (href === undefined || href.length > MAX_HREF_CHARS) return null;
  const url = URL.parse(href.trim());
  if (url === null) return null;
  if (WITHOUT_HOST.has(url.protocol)) return { href: url.href, host: null };
  return WITH_HOST.has(url.protocol) && url.host !== '' ? { href: url.href, host: url.host } : null;
}

const HOST_LIKE = /(?:^|[\s/@(<])((?:[\p{L}\p{N}-]{1,63}\.){1,8}\p{L}{2,24})(?=$|[\s/:?#)>,])/gu;

/** True when a text names a host, and only others than this one: `bank.example` on a link to `evil.example`. */
export function namesOtherHost(text: string, host: string): boolean {
  const own = host.replace(/:\d+$/, '').toLowerCase();
  const named = [...text.slice(0, 300).toLowerCase().matchAll(HOST_LIKE)].map(([, name = '']) => ascii(name));
  const isOwn = (name: string): boolean =>
    own === name || own.endsWith(`.${name}`) || name.endsWith(`.${own}`);
  return named.length > 0 && !named.some(isOwn);
}

const ascii = (name: string): string => URL.parse(`http://${name}`)?.hostname ?? name;
