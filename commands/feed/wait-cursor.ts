/**
 * The cursor of a wait: a place in the log up to which the caller has been told everything (`contract.md` 5). It says
 * nothing that the `Position` header does not, and is good for any wait on the same mailbox, on every replica.
 */
import { z } from 'zod';
import { GatewayError } from '../values/errors.ts';
import type { Position } from '../values/position.ts';

export interface WaitCursor {
  /** The last event the caller knows of. */
  readonly position: Position;
  /** Index of the last change known inside that event; null = all of them. */
  readonly index: number | null;
  /** When the cursor was handed out: how long it is good for is counted from here. */
  readonly issuedAt: Date;
}

const PREFIX = 'wc1_';

/** `l` is the log's id; `p` is text, for a position is wider than a JSON number is exact. */
const Written = z.strictObject({
  l: z.string(),
  p: z.string().regex(/^(?:0|[1-9]\d{0,18}|-1)$/),
  i: z.int().min(0).max(1_000_000).optional(),
  t: z.int().min(0).max(8_640_000_000_000_000),
});

/** A cursor after everything up to a position: what a query's `page.as_of` is. */
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
  // Base64 and JSON can be written in more ways than one; ours is the only one that is read, and only of this log.
  if (encodeWaitCursor(logId, cursor) !== text) throw invalidWaitCursor();
  return cursor;
}

/** The refusal of a cursor that is none, is of another log, or lies beyond the end of this one. */
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
