/** A request body of any type, streamed and never buffered completely. */
import { z } from 'zod';

export interface UploadedBytes {
  /** The caller's Content-Type; null = absent. */
  readonly contentType: string | null;
  /** Number of bytes, when the caller announced it; null = unknown. */
  readonly length: number | null;
  /** Can be read once, with back-pressure. */
  readonly bytes: AsyncIterable<Uint8Array>;
}

/** The input field of a capability for its `bodyBytes`. */
export const UploadedBytes = z.custom<UploadedBytes>(
  (value) => typeof value === 'object' && value !== null && 'bytes' in value && 'contentType' in value,
);
