/** Reads the body of a POST directly: no middleware has parsed, copied or buffered it before. */
import type { IncomingMessage } from 'node:http';
import { GatewayError } from '../../commands/values/errors.ts';
import type { UploadedBytes } from '../../commands/values/byte-streams.ts';

/**
 * The whole body. Throws `payload_too_large` as soon as it is known to exceed `maxBytes`, and
 * `ClientGone` when the client ends before its request does.
 */
export async function readBody(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw tooLarge(maxBytes);
  return await new Promise<Buffer>((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > maxBytes) {
        request.pause();
        reject(tooLarge(maxBytes));
      } else {
        chunks.push(chunk);
      }
    });
    request.on('end', () => {
      resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks));
    });
    const gone = (): void => {
      if (!request.complete) reject(new ClientGone());
    };
    request.on('error', gone);
    request.on('close', gone);
  });
}

/** The body as it arrives; iterating it throws `ClientGone` when the client ends before its request does. */
export function uploadOf(request: IncomingMessage): UploadedBytes {
  const { 'content-type': contentType = null, 'content-length': length } = request.headers;
  if ((request.headers['content-encoding'] ?? 'identity') !== 'identity') {
    throw new GatewayError('unsupported_media_type', 'Send the bytes without Content-Encoding.');
  }
  return { contentType, length: length === undefined ? null : Number(length), bytes: piecesOf(request) };
}

async function* piecesOf(request: IncomingMessage): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    // Not destroyed: a refusal in the middle is still answered on this connection.
    for await (const piece of request.iterator({ destroyOnReturn: false })) yield piece as Buffer;
  } catch (error) {
    throw request.complete ? error : new ClientGone();
  }
}

/** The connection ended before the request did: no client is left to answer. */
export class ClientGone extends Error {
  constructor() {
    super('the client disconnected before its request was complete');
    this.name = 'ClientGone';
  }
}

const tooLarge = (maxBytes: number): GatewayError =>
  new GatewayError('payload_too_large', `The body may have at most ${String(maxBytes)} bytes.`);
