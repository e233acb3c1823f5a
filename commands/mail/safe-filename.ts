/** Senders' file names, made safe to show and to save under. */

/** Most file systems allow 255 bytes; a suffix added by a user agent must fit as well. */
const MAX_CHARS = 150;
/** Only the end of a longer name is processed: composition is quadratic in the length of a run of marks. */
const MOST_READ_CHARS = 4_096;
/** An extension up to this length is kept when the name is shortened. */
const MAX_EXTENSION_CHARS = 12;

/**
 * Controls, and the marks that change the direction of text: `invoice‮fdp.exe` reads like a PDF (Unicode TR
 * 36).
 */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}\ufffe\uffff]/gu;
/** Characters with a special meaning in paths or shells of some systems. */
const RESERVED = /["*:<>?|]/g;

/**
 * The last segment of the name without controls, direction marks and reserved characters, shortened to 150
 * characters with its extension kept; null when nothing is left.
 */
export function safeFilename(name: string | null): string | null {
  if (name === null) return null;
  const last = name.slice(-MOST_READ_CHARS).normalize('NFC').split(/[/\\]/).at(-1) ?? '';
  const visible = last.replaceAll(INVISIBLE, '').replaceAll(RESERVED, '_').replaceAll(/\s+/g, ' ');
  // A leading dot hides a file; some systems drop a trailing dot or space.
  const trimmed = visible.replace(/^[. ]+/, '').replace(/[. ]+$/, '');
  return trimmed === '' ? null : shortened(trimmed);
}

function shortened(name: string): string {
  const characters = Array.from(name);
  if (characters.length <= MAX_CHARS) return name;
  const dot = characters.lastIndexOf('.');
  const extension = characters.length - dot <= MAX_EXTENSION_CHARS ? characters.slice(dot) : [];
  return [...characters.slice(0, MAX_CHARS - extension.length), ...extension].join('');
}
