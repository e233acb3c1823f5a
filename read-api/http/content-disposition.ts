/** Under which name a download is offered (RFC 6266). */
import { safeFilename } from '../../commands/mail/safe-filename.ts';

/** Percent-encoding of everything but `attr-char` (RFC 8187 3.2.1). */
const extended = (text: string): string =>
  encodeURIComponent(text).replaceAll(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );

/** The disposition with the name: as ASCII for old clients, and as it is. Never a path, a control character or another header. */
export function contentDisposition(
  name: string | null,
  disposition: 'attachment' | 'inline' = 'attachment',
): string {
  const safe = safeFilename(name);
  if (safe === null) return disposition;
  const ascii = safe.replaceAll(/[^\u0020-\u007e]|["\\%]/g, '_');
  return ascii === safe
    ? `${disposition}; filename="${ascii}"`
    : `${disposition}; filename="${ascii}"; filename*=UTF-8''${extended(safe)}`;
}
