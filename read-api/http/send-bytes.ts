/** Bytes as an HTTP answer: whole or one range, written only as fast as the client reads. */
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { encodeExtended } from 'content-disposition';
import type { ByteAnswer } from '../../commands/values/byte-streams.ts';
import { safeFilename } from '../../commands/mail/safe-filename.ts';
import { GatewayError } from '../../commands/values/errors.ts';
import { goneSignal } from './disconnect-signal.ts';
import { ClientGone } from './request-body.ts';

/** A client that reads nothing for this long counts as disconnected. */
const STALLED_MS = 60_000;

/**
 * Sends the answer. Its length is sent only where it is certain: with a range, or once it was read to its
 * end. Throws `range_not_satisfiable`, `ClientGone` and errors of reading, before the first byte as refusals.
 */
export async function sendBytes(
  request: IncomingMessage,
  response: ServerResponse,
  answer: ByteAnswer,
  stalledMs = STALLED_MS,
): Promise<void> {
  const headers = headersOf(answer);
  const gone = goneSignal(response);
  if (request.method === 'HEAD') {
    response.writeHead(200, { ...headers, ...lengthOf(answer.knownLength) });
    response.end();
    return;
  }
  const asked =
    answer.isNew !== true && isOfThese(answer, request) ? askedRange(request.headers.range) : null;
  if (asked === null) {
    await write({ response, gone, stalledMs }, answer.read(0, gone), () => {
      response.writeHead(200, { ...headers, ...lengthOf(answer.knownLength) });
    });
    return;
  }
  const length = await untilGone(gone, () => answer.length(gone));
  const range = rangeWithin(asked, length);
  if (range === null) {
    response.setHeader('Content-Range', `bytes */${String(length)}`);
    throw new GatewayError(
      'range_not_satisfiable',
      `The content has ${String(length)} bytes, none of them in this range.`,
      {
        details: { length },
      },
    );
  }
  const { first, last } = range;
  await write({ response, gone, stalledMs }, cut(answer.read(first, gone), range), () => {
    response.writeHead(206, {
      ...headers,
      ...lengthOf(last - first + 1),
      'Content-Range': `bytes ${String(first)}-${String(last)}/${String(length)}`,
    });
  });
}

/** Without the same validator it is unknown whether the client's bytes are a part of this (RFC 9110 13.1.5). */
const isOfThese = ({ etag }: ByteAnswer, { headers }: IncomingMessage): boolean =>
  headers['if-range'] === undefined || headers['if-range'] === etag;

/** Throws `ClientGone` where reading ended because the client left. */
async function untilGone<Result>(gone: AbortSignal, read: () => Promise<Result>): Promise<Result> {
  try {
    return await read();
  } catch (error) {
    throw gone.aborted ? new ClientGone() : error;
  }
}

/** Whatever the content, no browser may run, frame or sniff it. */
const headersOf = ({
  contentType,
  filename,
  isInline = false,
  isNew = false,
  etag,
  headers,
}: ByteAnswer): Record<string, string> => ({
  ...headers,
  ...(etag === undefined ? {} : { ETag: etag }),
  'Content-Type': contentType,
  'Content-Disposition': contentDisposition(filename, isInline ? 'inline' : 'attachment'),
  'Content-Security-Policy': "sandbox; default-src 'none'; frame-ancestors 'none'",
  'X-Content-Type-Options': 'nosniff',
  'Cache-Control': 'no-store',
  'Accept-Ranges': isNew ? 'none' : 'bytes',
});

/** Never a path, a control character or another header; old clients use the ASCII name (RFC 6266). */
export function contentDisposition(
  name: string | null,
  type: 'attachment' | 'inline' = 'attachment',
): string {
  const safe = safeFilename(name);
  if (safe === null) return type;
  const ascii = safe.replaceAll(/[^\u0020-\u007e]|["\\%]/g, '_');
  const named = `${type}; filename="${ascii}"`;
  return ascii === safe ? named : `${named}; filename*=${encodeExtended(safe)}`;
}

const lengthOf = (length: number | null): Record<string, number> =>
  length === null ? {} : { 'Content-Length': length };

async function* cut(
  pieces: AsyncIterable<Uint8Array>,
  { first, last }: ByteRange,
): AsyncGenerator<Uint8Array> {
  let left = last - first + 1;
  for await (const piece of pieces) {
    yield piece.subarray(0, left);
    left -= piece.length;
    if (left <= 0) return;
  }
}

interface Client {
  readonly response: ServerResponse;
  readonly gone: AbortSignal;
  readonly stalledMs: number;
}

/** Writes the head when the first piece is available, then piece by piece. Only the client may stall, not the reading. */
async function write(
  { response, gone, stalledMs }: Client,
  pieces: AsyncIterable<Uint8Array>,
  writeHead: () => void,
): Promise<void> {
  response.once('timeout', () => response.destroy());
  await untilGone(gone, async () => {
    for await (const piece of pieces) {
      gone.throwIfAborted();
      if (!response.headersSent) writeHead();
      if (response.write(piece)) continue;
      response.setTimeout(stalledMs);
      await once(response, 'drain', { signal: gone });
      response.setTimeout(0);
    }
  });
  if (!response.headersSent) writeHead();
  response.setTimeout(stalledMs);
  response.end();
}

/**
 * The `Range` header (RFC 9110 14): one range of bytes; anything else is answered whole, as the RFC allows. Parsed before the
 * length is known, which may cost a read. `range-parser` needs the length, and refuses a suffix longer than the content,
 * which RFC 9110 14.1.2 answers whole.
 */
export type AskedRange =
  | { readonly kind: 'from'; readonly first: number; readonly last: number | null }
  | { readonly kind: 'suffix'; readonly length: number };

/** First and last byte, counted from 0, both included. */
export interface ByteRange {
  readonly first: number;
  readonly last: number;
}

/** Null for no range, several, another unit, or a malformed header. */
export function askedRange(header: string | undefined): AskedRange | null {
  const [, first = '', last = ''] = /^bytes=\s*(\d{0,15})\s*-\s*(\d{0,15})\s*$/i.exec(header ?? '') ?? [];
  if (first === '') return last === '' ? null : { kind: 'suffix', length: Number(last) };
  if (last !== '' && Number(last) < Number(first)) return null;
  return { kind: 'from', first: Number(first), last: last === '' ? null : Number(last) };
}

/** The requested part of `length` bytes; null when it contains none of them (416). */
export function rangeWithin(asked: AskedRange, length: number): ByteRange | null {
  const first = asked.kind === 'suffix' ? Math.max(0, length - asked.length) : asked.first;
  const last = asked.kind === 'suffix' ? length - 1 : Math.min(asked.last ?? length - 1, length - 1);
  return first <= last ? { first, last } : null;
}
