/** Identifiers: prefix, underscore, 26 lower-case Crockford base32 characters (`contract.md` 1). */
import { createHash, createHmac, type KeyObject } from 'node:crypto';

export const ID_PREFIXES = [
  'org', 'usr', 'agt', 'inv', 'tok', 'grt', 'mbx', 'fld', 'msg', 'thr', 'att', 'upl', 'drf', 'chk', 'opn', 'evt', 'pol', 'ses',
  'req', 'tsk', 'whk', 'obx', 'oac', 'oag', 'hld', 'aex',
] as const; // prettier-ignore
export type IdPrefix = (typeof ID_PREFIXES)[number];

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';

/** Crockford base32, most significant bits first; the last character is padded with zero bits. */
export function toBase32(bytes: Uint8Array): string {
  let bits = 0;
  let value = 0;
  let text = '';
  for (const byte of bytes) {
    value = (value << 8) | byte;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      text += ALPHABET[(value >>> bits) & 31] ?? '';
    }
    value &= (1 << bits) - 1;
  }
  if (bits > 0) text += ALPHABET[(value << (5 - bits)) & 31] ?? '';
  return text;
}

/** The bytes of a Crockford base32 text, or null when a character is outside the alphabet. */
export function fromBase32(text: string): Buffer | null {
  const bytes: number[] = [];
  let bits = 0;
  let value = 0;
  for (const character of text) {
    const digit = ALPHABET.indexOf(character);
    if (digit < 0) return null;
    value = ((value << 5) | digit) & 0xfff;
    bits += 5;
    if (bits >= 8) {
      bits -= 8;
      bytes.push((value >>> bits) & 0xff);
    }
  }
  return Buffer.from(bytes);
}

const uuidBytes = (uuid: string): Buffer => Buffer.from(uuid.replaceAll('-', ''), 'hex');
const toUuid = (bytes: Uint8Array): string => {
  const hex = Buffer.from(bytes).toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20, 32)}`;
};

/** A UUID as a prefixed id: 128 bits make 26 characters. */
export const uuidToId = (prefix: IdPrefix, uuid: string): string => `${prefix}_${toBase32(uuidBytes(uuid))}`;

/** The UUID inside an id made by `uuidToId`, or null for any other text. */
export function idToUuid(prefix: IdPrefix, id: string): string | null {
  if (!id.startsWith(`${prefix}_`) || id.length !== prefix.length + 27) return null;
  const bytes = fromBase32(id.slice(prefix.length + 1));
  return bytes?.length === 16 ? toUuid(bytes) : null;
}

/** UUIDv7 (RFC 9562 5.7) from a time in milliseconds and ten random bytes. */
export function uuidV7(milliseconds: number, random: Uint8Array): string {
  const bytes = Buffer.alloc(16);
  bytes.writeUIntBE(milliseconds, 0, 6);
  bytes.set(random.subarray(0, 10), 6);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x70;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  return toUuid(bytes);
}

/** UUIDv5 (RFC 9562 5.5) of a list of parts, under the gateway's own namespace. */
export function uuidV5(...parts: readonly string[]): string {
  const digest = createHash('sha1').update(NAMESPACE).update(parts.join('\u0000')).digest();
  digest[6] = ((digest[6] ?? 0) & 0x0f) | 0x50;
  digest[8] = ((digest[8] ?? 0) & 0x3f) | 0x80;
  return toUuid(digest.subarray(0, 16));
}
const NAMESPACE = uuidBytes('6f1d3b1e-5a1c-5c39-9a52-0c4f8f3f6d21');

/**
 * The id derived from an Idempotency-Key: 26 characters of HMAC-SHA-256(id key, org ‖ principal ‖ key)
 * (`contract.md` 1).
 */
export function derivedId(prefix: IdPrefix, idKey: KeyObject, parts: readonly string[]): string {
  const mac = createHmac('sha256', idKey).update(parts.join('\u0000')).digest();
  return `${prefix}_${toBase32(mac.subarray(0, 17)).slice(0, 26)}`;
}

/**
 * Four characters with which a router finds the organisation of a bearer, an MCP session or a link without a
 * look-up: the first 20 bits of the SHA-256 of its id. Organisations may share one; clients ignore it.
 */
export const routeKey = (orgId: string): string =>
  toBase32(createHash('sha256').update(orgId).digest().subarray(0, 3)).slice(0, 4);

/** True for an id of a mailbox, as the owner of sealed texts or the target of a hold has it. */
export const isMailboxId = (id: string): boolean => id.startsWith('mbx_');

/** The same random part under another prefix: an operation `opn_X` and its approval `chk_X` share X. */
export const withPrefix = (prefix: IdPrefix, id: string): string =>
  `${prefix}_${id.slice(id.indexOf('_') + 1)}`;
