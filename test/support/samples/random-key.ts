import { createSecretKey, randomBytes } from 'node:crypto';
import type { KeyObject } from 'node:crypto';

/** A fresh 256-bit key, as a key file would give it. */
export const randomKey = (): KeyObject => createSecretKey(randomBytes(32));
