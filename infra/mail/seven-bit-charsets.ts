/** Charsets that shift between alphabets in ASCII bytes and that no decoder here knows: ISO-2022-KR, HZ and UTF-7. */

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
