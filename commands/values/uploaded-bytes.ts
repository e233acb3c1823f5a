/** A request body of any type, taken as it comes: never held whole. */
import { z } from 'zod';

export interface UploadedBytes {
  /** As the caller's Content-Type said; null = it said nothing. */
  readonly contentType: string | null;
  /** Bytes, where the caller told before; null = not known. */
  readonly length: number | null;
  /** Can be read once, as fast as they are taken. */
  readonly bytes: AsyncIterable<Uint8Array>;
}

/** The input field a capability takes its `bodyBytes` in. */
export const UploadedBytes = z.custom<UploadedBytes>(
  (value) => typeof value === 'object' && value !== null && 'bytes' in value && 'contentType' in value,
);
