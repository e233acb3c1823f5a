/** Waiting for what people decide, and for what becomes of it: checks whose status changes. */
import { z } from 'zod';
import { type Sight, sightOf } from '../../commands/approvals/operation-sight.ts';
import type { Caller } from '../../commands/kernel/access.ts';
import type { Context } from '../../commands/kernel/capability.ts';
import { notFound } from '../../commands/values/errors.ts';
import type { FeedPlace } from '../../commands/ports/change-feed.ts';
import type { ListedApproval } from '../../commands/operations/approval-payload.ts';
import { operationOfApproval } from '../../commands/operations/operation-id.ts';
import type { OperationState } from '../../commands/operations/operation.ts';
import { recordSeen } from '../approvals/record-seen.ts';
import { type ApprovalNews, checkNews } from './approval-news.ts';
import type { Found, Moments, WaitSource } from './wait-for.ts';

const MAX_APPROVALS = 50;

export const ApprovalIds = z
  .array(z.string().min(1).max(64))
  .min(1)
  .max(MAX_APPROVALS)
  .describe('As a reply named them.');

export interface AwaitedApprovals {
  /** Null = any mailbox. */
  readonly mailboxId: string | null;
  readonly approvalIds: readonly string[];
}

/**
 * Each of them counts whenever its status changes, also when its time passes and nobody writes that down. Throws `not_found`
 * when one of them is none, or none the caller may see.
 */
export function approvalsThat(
  context: Context,
  { mailboxId, approvalIds }: AwaitedApprovals,
): WaitSource<ListedApproval> {
  if (!approvalIds.every((id) => id.startsWith('chk_'))) throw notFound('approval');
  const ids = [...new Set(approvalIds.map(operationOfApproval))];
  let due: Date | null = null;
  return {
    ids,
    dueAt: () => due,
    find: async (after, caller, moments) => {
      // Read before the streams: what one of them holds beyond is told by the feed in a moment, and counts then.
      const upTo = context.ports.feed.reached;
      const checks = await loadVisible({ ...context, caller }, { ids, mailboxId, upTo });
      due = firstExpiry(checks, moments.now);
      return await toldOf({ ...context, caller }, checks, { after, upTo, ...moments });
    },
  };
}

interface AwaitedApproval {
  readonly id: string;
  readonly sight: Sight;
  readonly news: ApprovalNews;
}

interface Wanted {
  readonly ids: readonly string[];
  readonly mailboxId: string | null;
  readonly upTo: bigint;
}

async function loadVisible(
  { caller, ports }: Context & { readonly caller: Caller },
  { ids, mailboxId, upTo }: Wanted,
): Promise<readonly AwaitedApproval[]> {
  return await Promise.all(
    ids.map(async (id) => {
      const news = await checkNews(ports, id, upTo);
      const sight = await sightOf({ caller, ports }, news.state);
      const isElsewhere = mailboxId !== null && news.state.mailboxId !== mailboxId;
      if (sight === null || isElsewhere || news.state.approval === null) throw notFound('approval');
      return { id, sight, news };
    }),
  );
}

/** When the next of them expires by the clock; null when none will. */
function firstExpiry(checks: readonly AwaitedApproval[], now: Date): Date | null {
  const ahead = checks
    .flatMap(({ news }) => expiryOf(news.state) ?? [])
    .filter((at) => at > now)
    .map((at) => at.getTime());
  return ahead.length === 0 ? null : new Date(Math.min(...ahead));
}

/** When the clock alone ends it; null for one that has ended or is being committed. */
const expiryOf = ({ approval }: OperationState): Date | null =>
  approval?.end === null && !approval.committing ? new Date(approval.expiresAt) : null;

interface Stretch extends Moments {
  readonly after: FeedPlace;
  readonly upTo: bigint;
}

/** Whole items within the size of an answer, at least one; the rest is the next answer. */
async function toldOf(
  context: Context,
  checks: readonly AwaitedApproval[],
  stretch: Stretch,
): Promise<Found<ListedApproval>> {
  const { upTo, now } = stretch;
  const news = checks.flatMap((check) => newsOf(check, stretch) ?? []).toSorted(byPlace);
  const shown = await Promise.all(news.map(({ check }) => check.news.shown(context.ports, now)));
  const many = howManyFit(shown, (context.ports.server.limits.mcpResultBytes * 3) / 4);
  const seen = news.slice(0, many).filter(({ check }) => check.sight === 'approver');
  await recordSeen(
    context,
    seen.map(({ check }) => ({ id: check.id, state: check.news.state })),
  );
  const items = shown.slice(0, many).map(({ approval }) => approval);
  const next = news[many];
  if (next === undefined) return { items, upTo: { position: upTo, index: null }, more: false };
  // What the clock did comes last, so where a change is left over none of it was told.
  const isByClock = next.position === null;
  return {
    items,
    upTo: { position: isByClock ? upTo : next.position - 1n, index: null },
    until: isByClock ? new Date(next.at.getTime() - 1) : stretch.since,
    more: true,
  };
}

/** What makes a check count: the last change of its stream, or the moment its time passed. */
type News =
  | { readonly check: AwaitedApproval; readonly position: bigint; readonly at: null }
  | { readonly check: AwaitedApproval; readonly position: null; readonly at: Date };

function newsOf(check: AwaitedApproval, { after, upTo, since, now }: Stretch): News | null {
  const { state, changes } = check.news;
  const position = changes.findLast((each) => each > after.position && each <= upTo);
  if (position !== undefined) return { check, position, at: null };
  const at = expiryAfter(state, after.position < 0n ? null : since);
  return at !== null && at <= now ? { check, position: null, at } : null;
}

/** Also of one whose stream says by now that it expired. */
function expiryAfter({ approval }: OperationState, since: Date | null): Date | null {
  if (approval === null || approval.committing || (approval.end ?? 'expired') !== 'expired') return null;
  const at = new Date(approval.expiresAt);
  return since === null || at > since ? at : null;
}

const byPlace = (a: News, b: News): number => {
  if (a.position !== null && b.position !== null) return Number(a.position - b.position);
  if (a.position === null && b.position === null) return a.at.getTime() - b.at.getTime();
  return a.position === null ? 1 : -1;
};

function howManyFit(shown: readonly { readonly bytes: number }[], mostBytes: number): number {
  let bytes = 0;
  const end = shown.findIndex((each, index) => {
    bytes += each.bytes;
    return index > 0 && bytes > mostBytes;
  });
  return end < 0 ? shown.length : end;
}
