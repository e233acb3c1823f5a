/** File names as senders write them, made fit to be shown and to be saved under. */

/** Most file systems take 255 bytes; what a user agent appends has to fit as well. */
const MAX_CHARS = 150;
/** Of a longer name only the end is looked at: composing takes the square of a run of marks. */
const MOST_READ_CHARS = 4_096;
/** An extension this short is kept when the name is cut. */
const MAX_EXTENSION_CHARS = 12;

/** Controls, and the marks that turn the direction of text: `invoice‮fdp.exe` reads like a PDF (Unicode TR 36). */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}\ufffe\uffff]/gu;
/** Names that a path or a shell of some system gives a meaning of its own. */
const RESERVED = /["*:<>?|]/g;

/**
 * The last piece of the name without controls, direction marks and reserved characters, at most 150 characters long with
 * its extension kept; null when nothing is left.
 */
export function safeFilename(name: string | null): string | null {
  if (name === null) return null;
  const last = name.slice(-MOST_READ_CHARS).normalize('NFC').split(/[/\\]/).at(-1) ?? '';
  const visible = last.replaceAll(INVISIBLE, '').replaceAll(RESERVED, '_').replaceAll(/\s+/g, ' ');
  // A leading dot hides a file, a trailing one or a space is dropped by some systems.
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
