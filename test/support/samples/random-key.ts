import { createSecretKey, randomBytes } from 'node:crypto';
import type { KeyObject } from 'node:crypto';

/** A new 256-bit key, as a key file contains it. */
export const randomKey = (): KeyObject => createSecretKey(randomBytes(32));
