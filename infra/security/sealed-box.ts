/** AES-256-GCM with a random IV: version byte, IV (12 bytes), tag (16 bytes), ciphertext. */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { KeyObject } from 'node:crypto';

const VERSION = 1;
const IV_BYTES = 12;
const TAG_BYTES = 16;
const HEADER_BYTES = 1 + IV_BYTES + TAG_BYTES;

/**
 * Encrypts under `key` (32 bytes). `context` names the content and its owner; it is not stored, and only the same context
 * opens the box, so a box copied to another row does not open.
 */
export function sealBox(key: KeyObject, content: Uint8Array, context: string): Buffer {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(Buffer.from(context));
  // Copied only once: uploads pass through here in large pieces, many at a time.
  const ciphertext = [cipher.update(content), cipher.final()];
  return Buffer.concat([Buffer.of(VERSION), iv, cipher.getAuthTag(), ...ciphertext]);
}

/** The content, or null when key or context differ or the box was altered. */
export function openBox(key: KeyObject, box: Uint8Array, context: string): Buffer | null {
  if (box[0] !== VERSION || box.length < HEADER_BYTES) return null;
  const iv = box.subarray(1, 1 + IV_BYTES);
  const decipher = createDecipheriv('aes-256-gcm', key, iv, { authTagLength: TAG_BYTES });
  decipher.setAAD(Buffer.from(context)).setAuthTag(box.subarray(1 + IV_BYTES, HEADER_BYTES));
  try {
    return Buffer.concat([decipher.update(box.subarray(HEADER_BYTES)), decipher.final()]);
  } catch {
    // The only failure of `final` is a tag mismatch.
    return null;
  }
}
