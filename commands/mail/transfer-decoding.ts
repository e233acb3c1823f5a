/**
 * Decodes Content-Transfer-Encodings (RFC 2045 6) in pieces, in constant memory. Never fails: invalid input
 * is skipped.
 */
import type { PartDescription } from './message.ts';

export type TransferEncoding = PartDescription['encoding'];

interface DecodedPiece {
  readonly bytes: Uint8Array;
  /** Encoded bytes at the end that require the next piece; pass them with it. */
  readonly carry: Uint8Array;
}

const NOTHING = new Uint8Array();

/** Decodes the carry of the last piece and this piece; with `isLast` nothing is carried. */
export function decodePiece(
  encoding: TransferEncoding,
  carry: Uint8Array,
  piece: Uint8Array,
  isLast: boolean,
): DecodedPiece {
  if (encoding === 'identity') return { bytes: piece, carry: NOTHING };
  if (encoding === 'base64') return decodeBase64(carry, piece, isLast);
  if (encoding === 'uuencode') return decodeUuencode(Buffer.concat([carry, piece]), isLast);
  return decodeQuotedPrintable(Buffer.concat([carry, piece]), isLast);
}

const [TAB, LF, CR, SPACE, EQUALS] = [0x09, 0x0a, 0x0d, 0x20, 0x3d];

/** The bytes with a meaning in Base64 (RFC 2045 6.8); all others are skipped. */
const ALPHABET = new Uint8Array(256);
for (const character of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=') {
  ALPHABET[character.charCodeAt(0)] = 1;
}

function decodeBase64(carry: Uint8Array, piece: Uint8Array, isLast: boolean): DecodedPiece {
  const packed = Buffer.allocUnsafe(carry.length + piece.length);
  packed.set(carry);
  let { length } = carry;
  for (const byte of piece) {
    packed[length] = byte;
    length += ALPHABET[byte] ?? 0;
  }
  // Data after padding starts a new run.
  const open = packed.subarray(packed.subarray(0, length).lastIndexOf(EQUALS) + 1, length);
  const kept = isLast ? 0 : open.length % 4;
  const runs = packed.toString('latin1', 0, length - kept).split(/=+/);
  const decoded = runs.map((run) => Buffer.from(run, 'base64'));
  const [only] = decoded;
  return {
    bytes: decoded.length === 1 && only ? only : Buffer.concat(decoded),
    carry: Buffer.from(packed.subarray(length - kept, length)),
  };
}

/** Spaces at a line's end are padding (RFC 2045 6.7 rule 3), but never longer than this in practice. */
const MAX_PADDING = 1_000;

const hexDigit = (byte: number | undefined): number => {
  if (byte === undefined) return -1;
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte & ~0x20;
  return letter >= 0x41 && letter <= 0x46 ? letter - 0x37 : -1;
};

function decodeQuotedPrintable(encoded: Buffer, isLast: boolean): DecodedPiece {
  const bytes = Buffer.allocUnsafe(encoded.length);
  let length = 0;
  let at = 0;
  while (at < encoded.length) {
    const byte = encoded[at] ?? 0;
    if (byte !== EQUALS && byte !== SPACE && byte !== TAB) {
      bytes[length] = byte;
      length += 1;
      at += 1;
      continue;
    }
    const step = byte === EQUALS ? afterEquals(encoded, at) : afterSpaces(encoded, at);
    if (step === null && !isLast) break;
    const { next, written } = step ?? { next: encoded.length, written: encoded.subarray(at) };
    length += written.length;
    Buffer.from(written).copy(bytes, length - written.length);
    at = next;
  }
  return { bytes: bytes.subarray(0, length), carry: encoded.subarray(at) };
}

interface Step {
  readonly next: number;
  readonly written: Uint8Array;
}

/**
 * `=XX` is a byte, `=` at a line's end joins the lines, any other `=` is literal. Null = the piece ends here.
 */
function afterEquals(encoded: Buffer, at: number): Step | null {
  const [high, low] = [hexDigit(encoded[at + 1]), hexDigit(encoded[at + 2])];
  if (high >= 0 && low >= 0) return { next: at + 3, written: Uint8Array.of(high * 16 + low) };
  const end = afterBlanks(encoded, at + 1);
  if (encoded[end] === LF) return { next: end + 1, written: NOTHING };
  if (encoded[end] === CR && encoded[end + 1] === LF) return { next: end + 2, written: NOTHING };
  const isCutOff = end >= encoded.length || (encoded[end] === CR && end + 1 >= encoded.length);
  const mayBeHex = high >= 0 && at + 2 >= encoded.length;
  if ((isCutOff && end - at < MAX_PADDING) || mayBeHex) return null;
  return { next: at + 1, written: Uint8Array.of(EQUALS) };
}

/** Blanks before a line end are dropped, others kept. Null = the piece ends before that is decided. */
function afterSpaces(encoded: Buffer, at: number): Step | null {
  const end = afterBlanks(encoded, at);
  const isCutOff = end >= encoded.length || (encoded[end] === CR && end + 1 >= encoded.length);
  if (isCutOff && end - at < MAX_PADDING) return null;
  const isPadding = encoded[end] === LF || (encoded[end] === CR && encoded[end + 1] === LF);
  return { next: end, written: isPadding ? NOTHING : encoded.subarray(at, end) };
}

function afterBlanks(encoded: Buffer, from: number): number {
  let at = from;
  while (at < encoded.length && at - from < MAX_PADDING && (encoded[at] === SPACE || encoded[at] === TAB)) {
    at += 1;
  }
  return at;
}

/** Longer lines are not uuencode, whose first character counts at most 63 bytes. */
const MAX_UU_LINE = 1_000;

/** Lines of a length and groups of four characters (POSIX uuencode); `begin` and `end` are not data. */
function decodeUuencode(encoded: Buffer, isLast: boolean): DecodedPiece {
  const lastEnd = encoded.lastIndexOf(LF) + 1;
  const isOpen = !isLast && encoded.length - lastEnd <= MAX_UU_LINE;
  const whole = encoded.subarray(0, isOpen ? lastEnd : encoded.length);
  const lines = whole.toString('latin1').split(/\r?\n/);
  return {
    bytes: Buffer.concat(lines.flatMap((line) => uuLine(line) ?? [])),
    carry: isOpen ? encoded.subarray(lastEnd) : NOTHING,
  };
}

const uuBits = (line: string, at: number): number => ((line.charCodeAt(at) || SPACE) - SPACE) & 0x3f;

/** Spaces at its end may have been lost in transit. Null for a line without data. */
function uuLine(line: string): Uint8Array | null {
  const length = uuBits(line, 0);
  // `begin` and `end` are in lower case; data never is.
  if (!/^[ -`]+$/.test(line) || length === 0) return null;
  const bytes = new Uint8Array(Math.ceil(length / 3) * 3);
  for (let group = 0; group * 3 < length; group += 1) {
    const bits = [1, 2, 3, 4].reduce((sum, at) => (sum << 6) | uuBits(line, group * 4 + at), 0);
    bytes.set([bits >> 16, (bits >> 8) & 0xff, bits & 0xff], group * 3);
  }
  return bytes.subarray(0, length);
}
