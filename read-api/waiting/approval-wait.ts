/** Waits for approvals whose status changes: decisions, expiry, commits. */
import { z } from 'zod';
import { type Sight, sightOf } from '../../commands/approvals/operation-sight.ts';
import type { Caller } from '../../commands/kernel/access.ts';
import type { Context } from '../../commands/kernel/capability.ts';
import { notFound } from '../../commands/values/errors.ts';
import type { FeedPlace } from '../../commands/ports/change-feed.ts';
import type { ListedApproval } from '../../commands/operations/approval-payload.ts';
import { operationOfApproval } from '../../commands/operations/operation.ts';
import type { OperationState } from '../../commands/operations/operation.ts';
import { recordSeen } from '../approvals/approval-access.ts';
import { type ApprovalNews, loadApprovalNews } from './approval-news.ts';
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
 * Matches each change of status, also an expiry that no event has recorded yet. Throws `not_found` when one of the ids is no
 * approval, or none the caller may see.
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
      // Read before the streams: a later event of one of them reaches the feed soon and counts then.
      const upTo = context.ports.feed.reached;
      const approvals = await loadVisible({ ...context, caller }, { ids, mailboxId, upTo });
      due = firstExpiry(approvals, moments.now);
      return await matchesOf({ ...context, caller }, approvals, { after, upTo, ...moments });
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
      const news = await loadApprovalNews(ports, id, upTo);
      const sight = await sightOf({ caller, ports }, news.state);
      const isElsewhere = mailboxId !== null && news.state.mailboxId !== mailboxId;
      if (sight === null || isElsewhere || news.state.approval === null) throw notFound('approval');
      return { id, sight, news };
    }),
  );
}

/** When the next of them expires; null when none will. */
function firstExpiry(approvals: readonly AwaitedApproval[], now: Date): Date | null {
  const ahead = approvals
    .flatMap(({ news }) => expiryOf(news.state) ?? [])
    .filter((at) => at > now)
    .map((at) => at.getTime());
  return ahead.length === 0 ? null : new Date(Math.min(...ahead));
}

/** When it expires; null for one that has ended or is being committed. */
const expiryOf = ({ approval }: OperationState): Date | null =>
  approval === null || approval.phase === 'ended' || approval.phase === 'committing'
    ? null
    : new Date(approval.expiresAt);

interface Range extends Moments {
  readonly after: FeedPlace;
  readonly upTo: bigint;
}

/** As many whole items as fit into one answer, at least one; the rest follows in the next answer. */
async function matchesOf(
  context: Context,
  approvals: readonly AwaitedApproval[],
  range: Range,
): Promise<Found<ListedApproval>> {
  const { upTo, now } = range;
  const news = approvals.flatMap((approval) => newsOf(approval, range) ?? []).toSorted(byPlace);
  const shown = await Promise.all(news.map(({ approval }) => approval.news.shown(context.ports, now)));
  const many = howManyFit(shown, (context.ports.server.limits.mcpResultBytes * 3) / 4);
  const seen = news.slice(0, many).filter(({ approval }) => approval.sight === 'approver');
  await recordSeen(
    context,
    seen.map(({ approval }) => ({ id: approval.id, state: approval.news.state })),
  );
  const items = shown.slice(0, many).map(({ approval }) => approval);
  const next = news[many];
  if (next === undefined) return { items, upTo: { position: upTo, index: null }, more: false };
  // Expiries come last, so none of them was returned when a change is left over.
  const isByClock = next.position === null;
  return {
    items,
    upTo: { position: isByClock ? upTo : next.position - 1n, index: null },
    until: isByClock ? new Date(next.at.getTime() - 1) : range.since,
    more: true,
  };
}

/** Why an approval matches: the last change in its stream, or its expiry. */
type News =
  | { readonly approval: AwaitedApproval; readonly position: bigint; readonly at: null }
  | { readonly approval: AwaitedApproval; readonly position: null; readonly at: Date };

function newsOf(approval: AwaitedApproval, { after, upTo, since, now }: Range): News | null {
  const { state, changes } = approval.news;
  const position = changes.findLast((each) => each > after.position && each <= upTo);
  if (position !== undefined) return { approval, position, at: null };
  const at = expiryAfter(state, after.position < 0n ? null : since);
  return at !== null && at <= now ? { approval, position: null, at } : null;
}

/** Also for one whose stream has recorded the expiry by now. */
function expiryAfter({ approval }: OperationState, since: Date | null): Date | null {
  if (approval === null || approval.phase === 'committing') return null;
  if (approval.phase === 'ended' && approval.end.status !== 'expired') return null;
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
