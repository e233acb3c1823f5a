/** Opaque REST tokens: `mgw_`, 43 base62 characters of 256 random bits, 6 of a CRC-32 that shows a mistyped one. */
import { createHash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';

const PREFIX = 'mgw_';
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const SECRET_LENGTH = 43;
const CHECKSUM_LENGTH = 6;
const FORM = /^mgw_([0-9A-Za-z]{43})([0-9A-Za-z]{6})$/;

/** A fresh token and the hash that is stored in its place. */
export function newRestToken(): { readonly token: string; readonly hash: string } {
  const secret = base62(BigInt(`0x${randomBytes(32).toString('hex')}`), SECRET_LENGTH);
  const token = `${PREFIX}${secret}${checksum(secret)}`;
  return { token, hash: sha256(token) };
}

/** SHA-256 (hex) of a well-formed token; null when prefix, length, alphabet or checksum are wrong. */
export function hashRestToken(token: string): string | null {
  const [, secret, sum] = FORM.exec(token) ?? [];
  return secret !== undefined && sum === checksum(secret) ? sha256(token) : null;
}

const sha256 = (token: string): string => createHash('sha256').update(token).digest('hex');
const checksum = (secret: string): string => base62(BigInt(crc32(PREFIX + secret)), CHECKSUM_LENGTH);

function base62(value: bigint, length: number): string {
  let text = '';
  for (let rest = value; text.length < length; rest /= 62n)
    text = (ALPHABET[Number(rest % 62n)] ?? '') + text;
  return text;
}
