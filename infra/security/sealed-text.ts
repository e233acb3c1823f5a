/**
 * A sealed text, `sealed.v2.<owner id>.<commitment>.<box>`. The commitment is SHA-256(0x02 | s | text) with 16 random bytes s
 * that lie in the box alone: whoever may open the box can prove its text, and once its key is erased nobody can guess it.
 * The box holds s, the length of the text in bytes (4, big-endian) and the text in UTF-8, with zeros up to a multiple of 32: the
 * length of a box outlives its key. Version 1, `sealed.v1.<owner id>.<box>`, had neither.
 */
import { createHash, randomBytes } from 'node:crypto';
import { openBox, sealBox } from './sealed-box.ts';
import type { KeyObject } from 'node:crypto';

const FORM = /^sealed\.(?:v1|v2)\.([A-Za-z0-9_-]+)(?:\.([A-Za-z0-9_-]{43}))?\.([A-Za-z0-9_-]+)$/;
const OWNER_ID = /^[A-Za-z0-9_-]+$/;
const SALT_BYTES = 16;
const LENGTH_BYTES = 4;
const HEAD_BYTES = SALT_BYTES + LENGTH_BYTES;
const PADDED_TO = 32;

export interface SealedParts {
  readonly ownerId: string;
  /** Null = version 1: nothing is committed to. */
  readonly commitment: string | null;
  readonly box: Buffer;
}

export const isOwnerId = (id: string): boolean => OWNER_ID.test(id);

/** SHA-256(0x02 | salt | text), base64url. */
export const commitmentOf = (salt: Uint8Array, text: Uint8Array): string =>
  createHash('sha256').update(Buffer.of(2)).update(salt).update(text).digest('base64url');

/** Seals under the key of `ownerId`, in the newest version. */
export function sealText(key: KeyObject, ownerId: string, text: string): string {
  const bytes = Buffer.from(text);
  const salt = randomBytes(SALT_BYTES);
  const content = Buffer.alloc(Math.ceil((HEAD_BYTES + bytes.length) / PADDED_TO) * PADDED_TO);
  content.set(salt);
  content.writeUInt32BE(bytes.length, SALT_BYTES);
  content.set(bytes, HEAD_BYTES);
  const box = sealBox(key, content, contextOf(ownerId)).toString('base64url');
  return `sealed.v2.${ownerId}.${commitmentOf(salt, bytes)}.${box}`;
}

/** The parts of a sealed text of any version, or null when the text is none. */
export function readSealed(sealed: string): SealedParts | null {
  const [, ownerId, commitment, box] = FORM.exec(sealed) ?? [];
  if (ownerId === undefined || box === undefined) return null;
  if (sealed.startsWith('sealed.v2.') !== (commitment !== undefined)) return null;
  return { ownerId, commitment: commitment ?? null, box: Buffer.from(box, 'base64url') };
}

/** The text; null when the key is another, the box was altered or does not hold what was committed to. */
export function openText(key: KeyObject, { ownerId, commitment, box }: SealedParts): string | null {
  const content = openBox(key, box, contextOf(ownerId));
  if (content === null || commitment === null) return content?.toString() ?? null;
  if (content.length < HEAD_BYTES) return null;
  const text = content.subarray(HEAD_BYTES, HEAD_BYTES + content.readUInt32BE(SALT_BYTES));
  return commitmentOf(content.subarray(0, SALT_BYTES), text) === commitment ? text.toString() : null;
}

const contextOf = (ownerId: string): string => `personal ${ownerId}`;
