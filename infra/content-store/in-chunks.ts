/** Bytes from any source as chunks of one length, and no more of them than is allowed. */
import { GatewayError } from '../../commands/values/errors.ts';

/** The same bytes. Throws `payload_too_large` in place of the first byte beyond the limit. */
export async function* limited(
  bytes: AsyncIterable<Uint8Array>,
  maxBytes: number,
): AsyncGenerator<Uint8Array, void, undefined> {
  let size = 0;
  for await (const piece of bytes) {
    size += piece.length;
    if (size > maxBytes) throw tooLarge(maxBytes);
    yield piece;
  }
}

const tooLarge = (maxBytes: number): GatewayError =>
  new GatewayError('payload_too_large', `At most ${String(maxBytes)} bytes are accepted.`, {
    details: { max_bytes: maxBytes },
  });

/**
 * Rechunks the bytes: every chunk but the last has the same length, whatever the pieces were. All chunks reuse one buffer;
 * copy a chunk before pulling the next. Reuse keeps memory flat under many uploads.
 */
export async function* inChunks(
  pieces: AsyncIterable<Uint8Array>,
  chunkBytes: number,
): AsyncGenerator<Uint8Array, void, undefined> {
  const chunk = Buffer.allocUnsafe(chunkBytes);
  let filled = 0;
  for await (const piece of pieces) {
    for (let taken = 0; taken < piece.length;) {
      const part = piece.subarray(taken, taken + chunkBytes - filled);
      chunk.set(part, filled);
      taken += part.length;
      filled += part.length;
      if (filled < chunkBytes) continue;
      yield chunk;
      filled = 0;
    }
  }
  if (filled > 0) yield chunk.subarray(0, filled);
}
