/** An answer of bytes over HTTP: whole or one range of it, written only as fast as the client reads. */
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { encodeExtended } from 'content-disposition';
import type { ByteAnswer } from '../../commands/kernel/byte-answer.ts';
import { safeFilename } from '../../commands/mail/safe-filename.ts';
import { GatewayError } from '../../commands/values/errors.ts';
import { askedRange, type ByteRange, rangeWithin } from './byte-range.ts';
import { goneSignal } from './disconnect-signal.ts';
import { ClientGone } from './request-body.ts';

/** A client that takes nothing for this long is gone. */
const STALLED_MS = 60_000;

/**
 * Sends the answer. Its length is sent only where it is certain: with a range, or once it has been read to its end.
 * Throws `range_not_satisfiable`, what reading throws – before the first byte left that is an ordinary refusal – and `ClientGone`.
 */
export async function sendBytes(
  request: IncomingMessage,
  response: ServerResponse,
  answer: ByteAnswer,
): Promise<void> {
  const headers = headersOf(answer);
  if (request.method === 'HEAD') {
    response.writeHead(200, { ...headers, ...lengthOf(answer.knownLength) });
    response.end();
    return;
  }
  // Without a validator it cannot be known whether what the client has is a part of this (RFC 9110 13.1.5).
  const asked = request.headers['if-range'] === undefined ? askedRange(request.headers.range) : null;
  if (asked === null) {
    await write(response, answer.read(0), () => {
      response.writeHead(200, { ...headers, ...lengthOf(answer.knownLength) });
    });
    return;
  }
  const length = await answer.length();
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
  await write(response, cut(answer.read(first), range), () => {
    response.writeHead(206, {
      ...headers,
      ...lengthOf(last - first + 1),
      'Content-Range': `bytes ${String(first)}-${String(last)}/${String(length)}`,
    });
  });
}

/** Whatever is in it, no browser may run, frame or guess it. */
const headersOf = ({ contentType, filename, isInline = false }: ByteAnswer): Record<string, string> => ({
  'Content-Type': contentType,
  'Content-Disposition': contentDisposition(filename, isInline ? 'inline' : 'attachment'),
  'Content-Security-Policy': "sandbox; default-src 'none'; frame-ancestors 'none'",
  'X-Content-Type-Options': 'nosniff',
  'Cache-Control': 'no-store',
  'Accept-Ranges': 'bytes',
});

/** Never a path, a control character or another header; old clients read the ASCII name (RFC 6266). */
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

/** Writes the head once the first piece is there, then piece by piece. */
async function write(
  response: ServerResponse,
  pieces: AsyncIterable<Uint8Array>,
  writeHead: () => void,
): Promise<void> {
  const gone = goneSignal(response);
  response.setTimeout(STALLED_MS, () => response.destroy());
  for await (const piece of pieces) {
    if (gone.aborted) throw new ClientGone();
    if (!response.headersSent) writeHead();
    if (!response.write(piece)) await drained(response, gone);
  }
  if (!response.headersSent) writeHead();
  response.end();
}

async function drained(response: ServerResponse, gone: AbortSignal): Promise<void> {
  try {
    await once(response, 'drain', { signal: gone });
  } catch (error) {
    throw gone.aborted ? new ClientGone() : error;
  }
}
