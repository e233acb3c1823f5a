/**
 * The cursor of a wait: the place in the log up to which everything was reported (`contract.md` 5). It reveals no more than
 * the `Position` header, and is valid for any wait on the same mailbox, on every replica.
 */
import { z } from 'zod';
import { GatewayError } from '../values/errors.ts';
import type { Position } from '../values/position.ts';

interface WaitCursor {
  /** The last event that was reported. */
  readonly position: Position;
  /** Index of the last reported change in that event; null = all of them. */
  readonly index: number | null;
  /** When the cursor was issued: its lifetime starts here. */
  readonly issuedAt: Date;
}

const PREFIX = 'wc1_';

/** `l` is the log's id; `p` is text, because a position exceeds the exact integers of JSON. */
const Written = z.strictObject({
  l: z.string(),
  p: z.string().regex(/^(?:0|[1-9]\d{0,18}|-1)$/),
  i: z.int().min(0).max(1_000_000).optional(),
  t: z.int().min(0).max(8_640_000_000_000_000),
});

/** A cursor after everything up to a position: the `page.as_of` of a query. */
export const cursorAfter = (position: Position, now: Date): WaitCursor => ({
  position,
  index: null,
  issuedAt: now,
});

/** The text of a cursor: `wc1_` and base64url of its JSON. */
export function encodeWaitCursor(logId: string, { position, index, issuedAt }: WaitCursor): string {
  const written: z.input<typeof Written> = {
    l: logId,
    p: String(position),
    ...(index === null ? {} : { i: index }),
    t: issuedAt.getTime(),
  };
  return `${PREFIX}${Buffer.from(JSON.stringify(written)).toString('base64url')}`;
}

/** The cursor of a text. Throws `cursor_invalid` for anything that `encodeWaitCursor` did not write on this log. */
export function decodeWaitCursor(logId: string, text: string): WaitCursor {
  const written = text.startsWith(PREFIX) ? readJson(text.slice(PREFIX.length)) : null;
  const parsed = Written.safeParse(written);
  if (!parsed.success) throw invalidWaitCursor();
  const { p, i, t } = parsed.data;
  const cursor = { position: BigInt(p), index: i ?? null, issuedAt: new Date(t) };
  // Only the encoding of `encodeWaitCursor` is accepted, and only of this log.
  if (encodeWaitCursor(logId, cursor) !== text) throw invalidWaitCursor();
  return cursor;
}

/** The refusal of a cursor that is malformed, of another log, or beyond the end of this one. */
export const invalidWaitCursor = (): GatewayError =>
  new GatewayError(
    'cursor_invalid',
    'This is not a cursor of a wait; use `cursor` of an earlier answer or `page.as_of` of a query, or leave it out.',
  );

function readJson(text: string): unknown {
  try {
    return JSON.parse(Buffer.from(text, 'base64url').toString('utf8'));
  } catch {
    return null;
  }
}
