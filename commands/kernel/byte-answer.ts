/** An answer of bytes instead of JSON: handed out piece by piece, as fast as the client takes them. */
import { z } from 'zod';

export interface ByteAnswer {
  /** A media type fit for a header. */
  readonly contentType: string;
  /** The name to save it under; null = none is known. */
  readonly filename: string | null;
  /** A browser may show it in place. Absent = it is downloaded. */
  readonly isInline?: boolean;
  /** Bytes in all where that is known without reading, else null. Never an estimate. */
  readonly knownLength: number | null;
  /** Bytes in all; may have to read everything once. Throws like `read`. */
  length(): Promise<number>;
  /** The bytes from an offset on. Ending the iteration ends the reading. Throws what the mail port throws. */
  read(from: number): AsyncIterable<Uint8Array>;
}

/** The output schema of a capability that answers bytes. */
export const ByteAnswer = z.custom<ByteAnswer>(
  (value) =>
    typeof value === 'object' && value !== null && 'read' in value && typeof value.read === 'function',
);

const MEDIA_TYPE = /^[a-z0-9][\w!#$&^.+-]{0,126}\/[a-z0-9][\w!#$&^.+-]{0,126}$/i;
const CHARSET = /^[\w.:+-]{1,40}$/;

/** A sender's media type (RFC 6838 4.2) with its charset, or `application/octet-stream` when it is none. */
export function safeMediaType(type: string, charset: string | null): string {
  if (!MEDIA_TYPE.test(type)) return 'application/octet-stream';
  return type.toLowerCase().startsWith('text/') && charset !== null && CHARSET.test(charset)
    ? `${type.toLowerCase()}; charset=${charset}`
    : type.toLowerCase();
}
