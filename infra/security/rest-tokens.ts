/**
 * Opaque bearers, `mgw_` of tokens and `mgs_` of sessions: a prefix, the route key of the organisation, 43 base62 characters of
 * 256 random bits, 6 of a CRC-32 that shows a mistyped one.
 */
import { createHash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { routeKey } from '../../commands/values/ids.ts';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const SECRET_LENGTH = 43;
const CHECKSUM_LENGTH = 6;
/** Bearers without a route key were issued before there was one, and stay good. */
const FORM = /^(mg[ws]_)((?:[0-9a-z]{4})?[0-9A-Za-z]{43})([0-9A-Za-z]{6})$/;

export type BearerPrefix = 'mgw_' | 'mgs_';

/** A fresh bearer of an organisation and the hash that is stored in its place. */
export function newBearer(
  prefix: BearerPrefix,
  orgId: string,
): { readonly token: string; readonly hash: string } {
  const random = base62(BigInt(`0x${randomBytes(32).toString('hex')}`), SECRET_LENGTH);
  const secret = `${routeKey(orgId)}${random}`;
  const token = `${prefix}${secret}${checksum(prefix, secret)}`;
  return { token, hash: sha256(token) };
}

/** SHA-256 (hex) of a well-formed bearer; null when prefix, length, alphabet or checksum are wrong. */
export function hashBearer(prefix: BearerPrefix, token: string): string | null {
  const [, found, secret, sum] = FORM.exec(token) ?? [];
  return found === prefix && secret !== undefined && sum === checksum(prefix, secret) ? sha256(token) : null;
}

const sha256 = (token: string): string => createHash('sha256').update(token).digest('hex');
const checksum = (prefix: BearerPrefix, secret: string): string =>
  base62(BigInt(crc32(prefix + secret)), CHECKSUM_LENGTH);

function base62(value: bigint, length: number): string {
  let text = '';
  for (let rest = value; text.length < length; rest /= 62n)
    text = (ALPHABET[Number(rest % 62n)] ?? '') + text;
  return text;
}
