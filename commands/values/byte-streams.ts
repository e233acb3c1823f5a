/** Bodies that are bytes instead of JSON, in requests and responses: streamed, never buffered completely. */
import { z } from 'zod';

/** A request body of any type. */
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

/** A response, sent as fast as the client takes it. */
export interface ByteAnswer {
  /** A media type that is valid in a header. */
  readonly contentType: string;
  /** The name to save it under; null = unknown. */
  readonly filename: string | null;
  /** A browser may show it in place. Absent = it is downloaded. */
  readonly isInline?: boolean;
  /** The exact number of bytes where it is known without reading, else null. */
  readonly knownLength: number | null;
  /** Made by this request: another one gets other bytes, so a range of these cannot be asked for. */
  readonly isNew?: boolean;
  /** A strong entity tag, where the bytes can be asked for again. */
  readonly etag?: string;
  /** Headers of its own. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The number of bytes; may read everything once, and ends with the reason of the signal. Throws like `read`. */
  length(gone?: AbortSignal): Promise<number>;
  /**
   * The bytes from an offset on. The end of the iteration ends the reading; the signal ends it also where what is before the
   * offset is read first. Throws what the mail port throws.
   */
  read(from: number, gone?: AbortSignal): AsyncIterable<Uint8Array>;
}

/** The output schema of a capability that returns bytes. */
export const ByteAnswer = z.custom<ByteAnswer>(
  (value) =>
    typeof value === 'object' && value !== null && 'read' in value && typeof value.read === 'function',
);

const MEDIA_TYPE = /^[a-z0-9][\w!#$&^.+-]{0,126}\/[a-z0-9][\w!#$&^.+-]{0,126}$/i;
const CHARSET = /^[\w.:+-]{1,40}$/;

/** A sender's media type (RFC 6838 4.2) with its charset, or `application/octet-stream` when it is invalid. */
export function safeMediaType(type: string, charset: string | null): string {
  if (!MEDIA_TYPE.test(type)) return 'application/octet-stream';
  return type.toLowerCase().startsWith('text/') && charset !== null && CHARSET.test(charset)
    ? `${type.toLowerCase()}; charset=${charset}`
    : type.toLowerCase();
}
