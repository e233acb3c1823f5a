/** What a browser may show in place: plain text and four kinds of pictures, known by their first bytes. Pure. */

const text = (bytes: Uint8Array, from: number, to: number): string =>
  Buffer.from(bytes.subarray(from, to)).toString('latin1');

const PICTURES: readonly (readonly [type: string, isOne: (head: Uint8Array) => boolean])[] = [
  ['image/png', (head) => text(head, 0, 8) === '\u0089PNG\r\n\u001a\n'],
  ['image/jpeg', (head) => text(head, 0, 3) === '\u00ff\u00d8\u00ff'],
  ['image/gif', (head) => /^GIF8[79]a$/.test(text(head, 0, 6))],
  ['image/webp', (head) => text(head, 0, 4) === 'RIFF' && text(head, 8, 12) === 'WEBP'],
];

/** The media type to show it under; null for everything that is only to be downloaded. `head`: the first 4 KiB. */
export function inlineType(declared: string, head: Uint8Array): string | null {
  const picture = PICTURES.find(([, isOne]) => isOne(head));
  if (picture) return picture[0];
  return declared.toLowerCase() === 'text/plain' ? plainText(head) : null;
}

/** With a control character it is no text, and without UTF-8 nobody knows which. */
function plainText(head: Uint8Array): string | null {
  try {
    const shown = new TextDecoder('utf-8', { fatal: true }).decode(head, { stream: true });
    return /[\u0000-\u0008\u000b\u000e-\u001f\u007f]/.test(shown) ? null : 'text/plain; charset=utf-8';
  } catch {
    return null;
  }
}
