/** SHA-256 for lines and trees, of which there are millions. */
import { hash } from 'node:crypto';

/** In one call, and by way of a text: a hash object, and a buffer of its own for each result, cost more than the hashing. */
export const sha256 = (...parts: readonly Uint8Array[]): Buffer =>
  Buffer.from(hash('sha256', Buffer.concat(parts), 'binary'), 'binary');
