/** The one wait loop: find matches, then sleep until the feed has news, the time is over, or the client disconnects. */
import type { Caller } from '../../commands/kernel/access.ts';
import { authorize } from '../../commands/kernel/authorize.ts';
import type { Capability, Context } from '../../commands/kernel/capability.ts';
import { FEED_DAYS, type FeedPlace, isAfter } from '../../commands/ports/change-feed.ts';
import { ERROR_TABLE, GatewayError } from '../../commands/values/errors.ts';
import { callerNow as callerStanding } from '../../commands/kernel/live-caller.ts';
import { untilRightsKnown } from '../../commands/kernel/rights-known.ts';
import { decodeWaitCursor, encodeWaitCursor, invalidWaitCursor } from '../../commands/feed/wait-cursor.ts';
import { type AwaitReply, DEFAULT_WAIT_SECONDS, type WaitFields } from './await-reply.ts';

/** A wait whose caller loses the right to it ends within this time (`contract.md` 2). */
const RIGHTS_CHECKED_EVERY_MS = 1_000;
const DAY_MS = 86_400_000;

/** Expiries between these moments match; everything up to `since` was returned before. */
export interface Moments {
  readonly since: Date;
  readonly now: Date;
}

export interface Found<Item> {
  readonly items: readonly Item[];
  /** Everything up to here was examined; the matches are in `items`. */
  readonly upTo: FeedPlace;
  /** The same for expiries; absent = now. */
  readonly until?: Date;
  /** True when more can be read at once. */
  readonly more: boolean;
}

export interface WaitSource<Item> {
  /** Mailboxes or operations whose news wake the wait. */
  readonly ids: readonly string[];
  /** Matches after a position, oldest first, with the caller's current rights. */
  find(after: FeedPlace, caller: Caller, moments: Moments): Promise<Found<Item>>;
  /** When the next expiry is due; null = never. */
  dueAt?(): Date | null;
}

export interface Waiting {
  /** The access requirement, which is checked again. */
  readonly access: Capability['access'];
  readonly input: WaitFields;
  readonly context: Context;
}

/**
 * Returns as soon as the source finds something. A wait whose caller lost the right to it ends with that error; temporary
 * errors (`mailbox_unavailable`, `store_unavailable`) are thrown with `details.cursor`.
 */
export async function waitFor<Item>(
  waiting: Waiting,
  start: Standing,
  source: WaitSource<Item>,
): Promise<AwaitReply<Item>> {
  const at: Moving = { ...start };
  try {
    return await untilFound(waiting, at, source);
  } catch (error) {
    throw withCursor(error, cursorAt(waiting, at));
  }
}

/** The progress of a wait: everything up to this position and moment was returned. */
export interface Standing {
  readonly place: FeedPlace;
  readonly since: Date;
}
type Moving = { -readonly [Field in keyof Standing]: Standing[Field] };

type Due = Pick<WaitSource<unknown>, 'dueAt'>;

const isDue = (source: Due, now: Date): boolean => msUntilDue(source, now) === 0;

const msUntilDue = ({ dueAt }: Due, now: Date): number => {
  const due = dueAt?.() ?? null;
  return due === null ? Infinity : Math.max(0, due.getTime() - now.getTime());
};

async function untilFound<Item>(
  waiting: Waiting,
  at: Moving,
  source: WaitSource<Item>,
): Promise<AwaitReply<Item>> {
  const { request, ports } = waiting.context;
  const { feed, clock } = ports;
  const { timeout_seconds: seconds = DEFAULT_WAIT_SECONDS } = waiting.input;
  const gone = request.gone ?? new AbortController().signal;
  const until = clock.elapsedMs() + seconds * 1_000;
  using watch = feed.watch(source.ids, gone);
  let looksAgain = false;
  for (;;) {
    const now = clock.now();
    if (watch.take() || looksAgain || isDue(source, now)) {
      const found = await look(waiting, at, source, now);
      if (found.reply !== null) return found.reply;
      looksAgain = found.more;
    } else {
      // The feed had no news of these ids up to there.
      at.place = later(at.place, { position: feed.reached, index: null });
      await callerNow(waiting);
    }
    at.since = now;
    const leftMs = until - clock.elapsedMs();
    if (leftMs <= 0 || feed.isEnding || gone.aborted) {
      return { status: 'timed_out', items: [], cursor: cursorAt(waiting, at) };
    }
    if (!looksAgain)
      await watch.wait(Math.min(leftMs, msUntilDue(source, clock.now()), RIGHTS_CHECKED_EVERY_MS));
  }
}

/** Searches once; without matches the wait only advances. */
async function look<Item>(
  waiting: Waiting,
  at: Moving,
  source: WaitSource<Item>,
  now: Date,
): Promise<{ readonly reply: AwaitReply<Item> | null; readonly more: boolean }> {
  const moments = { since: at.since, now };
  const { items, upTo, more, until = now } = await source.find(at.place, await callerNow(waiting), moments);
  const place = later(at.place, upTo);
  if (items.length > 0) {
    // A caller who may no longer see them receives the position before them.
    await callerNow(waiting);
    return {
      reply: { status: 'matched', items: [...items], cursor: cursorAt(waiting, { place, since: until }) },
      more,
    };
  }
  at.place = place;
  return { reply: null, more };
}

/** Where a wait begins: at its cursor, or at the current end of the log. */
export async function startOf({ input, context }: Waiting): Promise<Standing> {
  const { feed, clock } = context.ports;
  const head = await feed.head();
  if (input.cursor === undefined) return { place: { position: head, index: null }, since: clock.now() };
  const { issuedAt, ...place } = decodeWaitCursor(context.ports.server.logId, input.cursor);
  if (place.position > head) throw invalidWaitCursor();
  if (clock.now().getTime() - issuedAt.getTime() <= FEED_DAYS * DAY_MS) return { place, since: issuedAt };
  throw new GatewayError(
    'cursor_expired',
    `A cursor of a wait is good for ${String(FEED_DAYS)} days; query what is there, and wait from its page.as_of.`,
  );
}

/**
 * Where a wait for earlier requests begins: without a cursor at the beginning of the log, because the caller has not seen
 * anything of them yet.
 */
export async function startOfAll(waiting: Waiting): Promise<Standing> {
  const start = await startOf(waiting);
  return waiting.input.cursor === undefined ? { ...start, place: { position: -1n, index: null } } : start;
}

/** The caller with current rights. Throws when the token, its grant or a scope has ended since. */
async function callerNow({ access, input, context }: Waiting): Promise<Caller> {
  const { directory, clock } = context.ports;
  await untilRightsKnown(directory);
  const caller = callerStanding(directory.state, context.caller, clock.now());
  authorize(caller, directory.state, { access }, input);
  return caller;
}

/** Temporary errors carry the position of the wait, because a caller without a cursor could not resume otherwise. */
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

const cursorAt = ({ context }: Waiting, { place, since }: Standing): string =>
  encodeWaitCursor(context.ports.server.logId, { ...place, issuedAt: since });
