/** The frozen message as it is sent: `Date` is that of the attempt, the rest is as it was frozen. */
import { createHash } from 'node:crypto';
import type { HeldLease } from '../kernel/hold-lease.ts';
import { ContentAltered } from '../ports/content-store.ts';

const DAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

const twoDigits = (number: number): string => String(number).padStart(2, '0');

/** The header line with its line end, in the form of RFC 5322 3.3 and in UTC. */
export function dateHeader(date: Date): Uint8Array {
  const day = `${DAYS[date.getUTCDay()] ?? ''}, ${String(date.getUTCDate())}`;
  const month = `${MONTHS[date.getUTCMonth()] ?? ''} ${String(date.getUTCFullYear())}`;
  const time = [date.getUTCHours(), date.getUTCMinutes(), date.getUTCSeconds()].map(twoDigits).join(':');
  return new TextEncoder().encode(`Date: ${day} ${month} ${time} +0000\r\n`);
}

/** Yields the `Date` header, then the frozen bytes. */
export async function* datedMessage(
  date: Date,
  mime: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array, void, undefined> {
  yield dateHeader(date);
  yield* mime;
}

/**
 * Yields the same bytes. Throws `ContentAltered` in place of their end when their hash (SHA-256, hex) is not
 * the frozen one: no server accepts a message without its end.
 */
export async function* asFrozen(
  { mime_id, mime_sha256 }: { readonly mime_id: string; readonly mime_sha256: string },
  mime: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array, void, undefined> {
  const hash = createHash('sha256');
  for await (const chunk of mime) {
    hash.update(chunk);
    yield chunk;
  }
  if (hash.digest('hex') !== mime_sha256) throw new ContentAltered(mime_id);
}

/**
 * Yields the same bytes while the lease is held, and throws in place of their end afterwards: a process that
 * slept past its lease completes no message.
 */
export async function* whileHeld(
  lease: Pick<HeldLease, 'assertHeld'>,
  bytes: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array, void, undefined> {
  for await (const chunk of bytes) {
    lease.assertHeld();
    yield chunk;
  }
  lease.assertHeld();
}

/** The same bytes; the first piece is read at once. An error is thrown where the piece would be. */
export function readAhead(bytes: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  const pieces = bytes[Symbol.asyncIterator]();
  const first = pieces.next();
  first.catch(() => undefined);
  return (async function* () {
    for (let next = await first; next.done !== true; next = await pieces.next()) yield next.value;
  })();
}
