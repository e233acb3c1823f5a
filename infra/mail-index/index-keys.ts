/** Short keys of long texts: an index of 64 bits instead of the text; what is found by one is checked. */
import { createHash } from 'node:crypto';

/** The first 64 bits of SHA-256, as Postgres's signed `bigint`. */
export const keyOfText = (text: string): string =>
  String(createHash('sha256').update(text).digest().readBigInt64BE(0));
