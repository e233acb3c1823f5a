/** Characters of received text: by the declared charset (RFC 2046 4.1.2), or detected from the bytes where none is declared. */
import { isAscii, isUtf8 } from 'node:buffer';
import chardet from 'chardet';

/** Names without information: bytes beyond ASCII in such a text have no charset. */
const UNDECLARED =
  /^(?:|(?:us-?)?ascii|ansi_x3\.4-19\d\d|[78]bit|binary|unknown(?:-8bit)?|x-unknown|default|none)$/;

/** The detector's answers that are reliable for short texts; it reports Western charsets for any Latin one. */
const DETECTED: ReadonlyMap<string, string> = new Map([
  ['Shift_JIS', 'shift_jis'],
  ['EUC-JP', 'euc-jp'],
  ['EUC-KR', 'euc-kr'],
  ['Big5', 'big5'],
  ['GB18030', 'gb18030'],
  ['ISO-2022-JP', 'iso-2022-jp'],
  ['ISO-2022-KR', 'iso-2022-kr'],
  ['KOI8-R', 'koi8-r'],
  ['windows-1251', 'windows-1251'],
  ['ISO-8859-5', 'iso-8859-5'],
  ['ISO-8859-6', 'windows-1256'],
  ['windows-1256', 'windows-1256'],
  ['ISO-8859-7', 'windows-1253'],
  ['windows-1253', 'windows-1253'],
  ['ISO-8859-8', 'windows-1255'],
  ['windows-1255', 'windows-1255'],
]);
const LEAST_CONFIDENCE = 30;
/** More bytes do not make the detector more reliable. */
const SAMPLE_BYTES = 16_384;
/** Where a document declares its charset (HTML 13.2.3.2). */
const META_BYTES = 4_096;
const META = /<meta\b[^>]{0,500}?charset\s*=\s*["']?\s*([\w:.+-]{1,40})/i;
const REPLACED = '\ufffd';

/** The declared charset in lower case; null when none, or an uninformative one, is declared. */
export function declaredCharset(name: string | null): string | null {
  const lower = name?.trim().toLowerCase() ?? '';
  return UNDECLARED.test(lower) ? null : lower;
}

/** The text; null for an unknown charset. A byte order mark is removed. */
export function decodeCharset(bytes: Uint8Array, charset: string): string | null {
  const sevenBit = decodeSevenBit(bytes, charset);
  if (sevenBit !== null) return sevenBit;
  // Without a byte order in the name, the first bytes tell it, which this decoder does not read.
  if (charset === 'utf-16') return null;
  try {
    return new TextDecoder(charset).decode(bytes);
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

/** The text of bytes without a declared charset; the `meta` of HTML is used. Shows every byte. */
export function decodeUndeclared(bytes: Uint8Array, isHtml = false): string {
  const detectors = [byteOrderMark, isHtml ? metaCharset : () => null, utf8, detected];
  for (const detect of detectors) {
    const charset = detect(bytes);
    const text = charset === null ? null : decodeCharset(bytes, charset);
    if (text !== null && !withoutCutEnd(text).includes(REPLACED)) return text;
  }
  return new TextDecoder('windows-1252').decode(bytes);
}

/** True when the charset fits none of the characters beyond ASCII: the text was not written in it. */
export const isMisread = (text: string): boolean =>
  text.includes(REPLACED) && !/[^\u0000-\u007f\ufffd]/.test(text);

function byteOrderMark([first, second, third]: Uint8Array): string | null {
  if (first === 0xef && second === 0xbb && third === 0xbf) return 'utf-8';
  if (first === 0xff && second === 0xfe) return 'utf-16le';
  return first === 0xfe && second === 0xff ? 'utf-16be' : null;
}

function metaCharset(bytes: Uint8Array): string | null {
  const head = Buffer.from(bytes.subarray(0, META_BYTES)).toString('latin1');
  const charset = declaredCharset(META.exec(head)?.[1] ?? null);
  // The tag itself was read byte by byte, so the charset cannot use two bytes per character (HTML 13.2.3.3).
  return charset?.startsWith('utf-16') === true ? 'utf-8' : charset;
}

/** Text is read up to a number of bytes: the last character may be incomplete where others prove UTF-8. */
function utf8(bytes: Uint8Array): string | null {
  for (let cut = 0; cut < 4 && cut < bytes.length; cut += 1) {
    const whole = bytes.subarray(0, bytes.length - cut);
    if (isUtf8(whole)) return cut === 0 || !isAscii(whole) ? 'utf-8' : null;
  }
  return null;
}

const withoutCutEnd = (text: string): string => text.replace(/\ufffd{1,3}$/, '');

function detected(bytes: Uint8Array): string | null {
  const [best] = chardet.analyse(bytes.subarray(0, SAMPLE_BYTES));
  return best === undefined || best.confidence < LEAST_CONFIDENCE ? null : (DETECTED.get(best.name) ?? null);
}

/** Charsets that switch alphabets in ASCII bytes and that no decoder here supports: ISO-2022-KR, HZ and UTF-7. */

/** The text; null for any other charset. */
export function decodeSevenBit(bytes: Uint8Array, charset: string): string | null {
  const decode = DECODERS.get(charset);
  return decode === undefined ? null : decode(Buffer.from(bytes).toString('latin1'));
}

const euc = (charset: string, shifted: string): string =>
  new TextDecoder(charset).decode(Uint8Array.from(shifted, (each) => each.charCodeAt(0) | 0x80));

/** RFC 1557: between SO and SI two bytes are a character of KS X 1001; a line begins in ASCII. */
const iso2022Kr = (text: string): string =>
  text
    .replaceAll('\u001b$)C', '')
    .replaceAll(/\u000e([^\u000f\r\n]*)\u000f?/g, (_, shifted: string) => euc('euc-kr', shifted))
    .replaceAll('\u000f', '');

/** RFC 1843: between `~{` and `~}` two bytes are a character of GB 2312; `~~` is a tilde and `~` joins lines. */
const hz = (text: string): string =>
  text.replaceAll(/~\{([^~\r\n]*)(?:~\})?|~~|~\r?\n/g, (found, shifted: string | undefined) =>
    shifted === undefined ? (found === '~~' ? '~' : '') : euc('gbk', shifted),
  );

/** RFC 2152: between `+` and `-` UTF-16 in Base64; `+-` is a plus. */
const utf7 = (text: string): string =>
  text.replaceAll(/\+([A-Za-z0-9+/]*)-?/g, (found, shifted: string) =>
    shifted === '' ? (found === '+-' ? '+' : found) : utf16(Buffer.from(shifted, 'base64')),
  );

const utf16 = (bytes: Uint8Array): string =>
  new TextDecoder('utf-16be').decode(bytes.subarray(0, bytes.length - (bytes.length % 2)));

const DECODERS: ReadonlyMap<string, (text: string) => string> = new Map([
  ['iso-2022-kr', iso2022Kr],
  ['csiso2022kr', iso2022Kr],
  ['hz-gb-2312', hz],
  ['hz', hz],
  ['utf-7', utf7],
  ['unicode-1-1-utf-7', utf7],
  ['csunicode11utf7', utf7],
]);
