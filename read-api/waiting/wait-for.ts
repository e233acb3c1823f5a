/** The one way to wait: look, and sleep until the feed tells of something new, the time is over, or nobody waits. */
import type { Caller } from '../../commands/kernel/access.ts';
import { authorise } from '../../commands/kernel/authorise.ts';
import type { Capability, Context } from '../../commands/kernel/capability.ts';
import { FEED_DAYS } from '../../commands/kernel/change-feed.ts';
import { ERROR_TABLE, GatewayError } from '../../commands/kernel/errors.ts';
import { callerNow as callerStanding } from '../../commands/kernel/live-caller.ts';
import { type FeedPlace, isAfter } from '../../commands/kernel/observed-change.ts';
import type { Ports } from '../../commands/kernel/ports.ts';
import { decodeWaitCursor, encodeWaitCursor, invalidWaitCursor } from '../../commands/waiting/wait-cursor.ts';
import { type AwaitReply, DEFAULT_WAIT_SECONDS, type WaitFields } from './await-reply.ts';

/** Rights that end, end a wait within this time (`contract.md` 2). */
const RIGHTS_CHECKED_EVERY_MS = 1_000;
const DAY_MS = 86_400_000;

export interface Found<Item> {
  readonly items: readonly Item[];
  /** Up to here everything was looked at, and what counts is in `items`. */
  readonly upTo: FeedPlace;
  /** True when there is more to look at right away. */
  readonly more: boolean;
}

export interface WaitSource<Item> {
  /** Mailboxes or operations whose news make another look worth while. */
  readonly ids: readonly string[];
  /** What counts after a place, oldest first, for a caller with the rights of this moment. */
  find(after: FeedPlace, caller: Caller): Promise<Found<Item>>;
}

export interface Waiting {
  /** What was asked of the caller, to be asked again. */
  readonly access: Capability['access'];
  readonly input: WaitFields;
  readonly context: Context;
}

/**
 * Answers as soon as the source finds something. A wait whose caller lost the right to it ends with that refusal; what may
 * pass (`mailbox_unavailable`, `store_unavailable`) is thrown with `details.cursor`.
 */
export async function waitFor<Item>(
  waiting: Waiting,
  start: FeedPlace,
  source: WaitSource<Item>,
): Promise<AwaitReply<Item>> {
  const at: Standing = { place: start };
  try {
    return await untilFound(waiting, at, source);
  } catch (error) {
    throw withCursor(error, cursorAt(waiting.context.ports, at.place));
  }
}

/** Where a wait stands: up to there nothing counted. */
interface Standing {
  place: FeedPlace;
}

async function untilFound<Item>(
  waiting: Waiting,
  at: Standing,
  source: WaitSource<Item>,
): Promise<AwaitReply<Item>> {
  const { request, ports } = waiting.context;
  const { feed, clock } = ports;
  const { timeout_seconds: seconds = DEFAULT_WAIT_SECONDS } = waiting.input;
  const gone = request.gone ?? new AbortController().signal;
  const until = clock.now().getTime() + seconds * 1_000;
  using watch = feed.watch(source.ids, gone);
  let looksAgain = false;
  for (;;) {
    if (watch.take() || looksAgain) {
      const caller = callerNow(waiting);
      const { items, upTo, more } = await source.find(at.place, caller);
      const reached = later(at.place, upTo);
      if (items.length > 0) {
        // Who may not see them any more, or cannot now, is told the place before them.
        callerNow(waiting);
        return { status: 'matched', items: [...items], cursor: cursorAt(ports, reached) };
      }
      at.place = reached;
      looksAgain = more;
    } else {
      // Nothing of these ids was noted up to there.
      at.place = later(at.place, { position: feed.reached, index: null });
      callerNow(waiting);
    }
    const leftMs = until - clock.now().getTime();
    if (leftMs <= 0 || feed.isEnding || gone.aborted) {
      return { status: 'timed_out', items: [], cursor: cursorAt(ports, at.place) };
    }
    if (!looksAgain) await watch.wait(Math.min(leftMs, RIGHTS_CHECKED_EVERY_MS));
  }
}

/** Where a wait begins: at its cursor, or at the end of the log as it is now. */
export async function startOf({ input, context }: Waiting): Promise<FeedPlace> {
  const { feed, clock } = context.ports;
  const head = await feed.head();
  if (input.cursor === undefined) return { position: head, index: null };
  const { issuedAt, ...place } = decodeWaitCursor(input.cursor);
  if (place.position > head) throw invalidWaitCursor();
  if (clock.now().getTime() - issuedAt.getTime() <= FEED_DAYS * DAY_MS) return place;
  throw new GatewayError(
    'cursor_expired',
    `A cursor of a wait is good for ${String(FEED_DAYS)} days; query what is there, and wait from its page.as_of.`,
  );
}

/** The caller as it stands now. Throws when the token, its grant or a scope has ended since. */
function callerNow({ access, input, context }: Waiting): Caller {
  const { directory, clock } = context.ports;
  if (!directory.isCurrent) {
    throw new GatewayError('store_unavailable', 'It is not known now who may do what; try again.');
  }
  const caller = callerStanding(directory.state, context.caller, clock.now());
  authorise(caller, directory.state, { access }, input);
  return caller;
}

/** Whoever began without a cursor has none to come back with: a failure that may pass tells where the wait stood. */
function withCursor(error: unknown, cursor: string): unknown {
  if (!(error instanceof GatewayError) || !ERROR_TABLE[error.code].retryable) return error;
  const { code, message, details, retryAfterSeconds } = error;
  return new GatewayError(code, message, {
    details: { ...details, cursor },
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    cause: error,
  });
}

const later = (a: FeedPlace, b: FeedPlace): FeedPlace =>
  isAfter({ position: b.position, index: b.index ?? Infinity }, a) ? b : a;

const cursorAt = ({ clock }: Ports, place: FeedPlace): string =>
  encodeWaitCursor({ ...place, issuedAt: clock.now() });
