/** Who is to be told of which waiting approvals now, and when to look again. Pure. */
import type { NotificationLevel } from '../ports/directory.ts';

const MINUTE = 60_000;
/** After a notice a person gets the next one after this; what comes meanwhile is in it. */
const BETWEEN_MS: Readonly<Record<Exclude<NotificationLevel, 'off'>, number>> = {
  each: 15 * MINUTE,
  digest: 24 * 60 * MINUTE,
};
/** A person is reminded when a quarter of the time is left, two hours before the end at the earliest. */
const REMINDED_PART = 1 / 4;
const REMINDED_AT_MOST_MS = 120 * MINUTE;
/** More are in the next notice, so that an event has a bounded size. */
const MOST_IN_ONE = 100;

/** An approval that waits for votes. */
export interface WaitingApproval {
  readonly id: string;
  readonly requestedAt: Date;
  readonly expiresAt: Date;
  /** Those who may decide it, have not voted, and have a verified address. */
  readonly voters: readonly string[];
}

/** What one person of the organisation was told. */
export interface Told {
  /** The newest notice; null before the first. */
  readonly last: { readonly id: string; readonly at: Date } | null;
  /** Approval → when it was told first, and whether the person was reminded. */
  readonly approvals: ReadonlyMap<string, { readonly at: Date; readonly isReminded: boolean }>;
}

export interface Notice {
  readonly userId: string;
  /** The id of the notice before, which names this one. */
  readonly previousId: string | null;
  readonly approvalIds: readonly string[];
  /** Of them, those told again because their time ends. */
  readonly remindedIds: readonly string[];
}

export interface NoticesDue {
  readonly notices: readonly Notice[];
  /** The next moment at which one may be due; null while nothing waits to be told. */
  readonly lookAt: Date | null;
}

/** One approval that a person is to be told of. */
interface Item {
  readonly id: string;
  readonly isReminder: boolean;
  /** Not told before this. */
  readonly dueAt: number;
  readonly expiresAt: number;
}

/**
 * The first notice goes at once. The next one goes a quarter of an hour later at the earliest (a day with `digest`), with
 * everything that came meanwhile. A reminder keeps the quarter of an hour too, unless the approval ends before.
 */
export function noticesDue(
  approvals: readonly WaitingApproval[],
  people: ReadonlyMap<string, { readonly level: NotificationLevel; readonly told: Told }>,
  now: Date,
): NoticesDue {
  const waiting = approvals.filter(({ expiresAt }) => expiresAt > now);
  const notices: Notice[] = [];
  const moments: number[] = [];
  for (const [userId, { level, told }] of people) {
    if (level === 'off') continue;
    const items = waiting
      .filter(({ voters }) => voters.includes(userId))
      .flatMap((approval) => itemsOf(approval, level, told));
    if (items.length === 0) continue;
    const dueAt = Math.min(...items.map((item) => item.dueAt));
    if (dueAt > now.getTime()) moments.push(dueAt);
    else notices.push(noticeOf(userId, told, items, now));
  }
  return { notices, lookAt: moments.length === 0 ? null : new Date(Math.min(...moments)) };
}

function itemsOf(
  { id, requestedAt, expiresAt }: WaitingApproval,
  level: Exclude<NotificationLevel, 'off'>,
  { last, approvals }: Told,
): readonly Item[] {
  const end = expiresAt.getTime();
  const remindAt = end - Math.min((end - requestedAt.getTime()) * REMINDED_PART, REMINDED_AT_MOST_MS);
  const before = approvals.get(id);
  const isTold = before !== undefined;
  // Told within its last quarter, it needs no reminder.
  if (isTold && (before.isReminded || before.at.getTime() >= remindAt)) return [];
  const lastAt = last?.at.getTime() ?? -Infinity;
  const soonest = lastAt + BETWEEN_MS.each;
  const reminderAt = Math.max(remindAt, soonest < end ? soonest : remindAt);
  const dueAt = isTold ? reminderAt : Math.min(lastAt + BETWEEN_MS[level], reminderAt);
  return [{ id, isReminder: isTold, dueAt, expiresAt: end }];
}

/** Everything untold goes with it, and the reminders whose time has come; what ends first comes first. */
function noticeOf(userId: string, { last }: Told, items: readonly Item[], now: Date): Notice {
  const chosen = items
    .filter(({ isReminder, dueAt }) => !isReminder || dueAt <= now.getTime())
    .toSorted((a, b) => a.expiresAt - b.expiresAt || (a.id < b.id ? -1 : 1))
    .slice(0, MOST_IN_ONE);
  return {
    userId,
    previousId: last?.id ?? null,
    approvalIds: chosen.map(({ id }) => id),
    remindedIds: chosen.flatMap(({ id, isReminder }) => (isReminder ? [id] : [])),
  };
}
