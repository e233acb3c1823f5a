/** The background work, one row per kind: what is due, and the command that settles one task. */
import { commitDue } from '../../commands/approvals/commit-approval.ts';
import { endOverdue } from '../../commands/approvals/invalidate-missing-targets.ts';
import type { DraftState } from '../../commands/drafts/draft.ts';
import { keepDraftCopy } from '../../commands/drafts/keep-draft-copy.ts';
import { discardOrphan } from '../../commands/drafts/discard-draft.ts';
import { holdLease } from '../../commands/kernel/hold-lease.ts';
import { systemAuthor } from '../../commands/kernel/decide-and-append.ts';
import { settleOperation } from '../../commands/messages/reconcile-operation.ts';
import type { Ports } from '../../commands/ports/ports.ts';
import { fileSentCopy } from '../../commands/sending/sent-copy.ts';
import { settleReview } from '../../commands/drafts/end-review.ts';
import { type ReportSearch, searchReports } from '../../commands/sending/search-reports.ts';
import { settleSend } from '../../commands/sending/settle-send.ts';
import { LEFT_REVIEW_PROBE, listLeftReviews } from '../../projections/draft-reviews.ts';
import { listUnsentDrafts } from '../../projections/drafts.ts';
import {
  COMMIT_PROBE,
  listDueCommits,
  listOverdueApprovals,
  OVERDUE_PROBE,
} from '../../projections/due-approvals.ts';
import { listUnsettledOperations, UNSETTLED_PROBE } from '../../projections/operations.ts';
import { type DueSend, listDueSends, type Patience, sendProbe } from '../../projections/sends.ts';
import { copyProbe, type CopyWork, createDraftCopies, listCopyWork } from '../content-store/draft-copies.ts';
import { listLeftContent } from '../content-store/postgres-content-store.ts';
import { departuresSweeper } from './departures-sweeper.ts';
import { byErasedKeys, byErasures } from './erasure-sweepers.ts';
import { oauthStateSweeper } from './oauth-state-sweeper.ts';
import { byPeople } from './people-sweepers.ts';
import { createReportSearches, isConnected, listReportSearches } from './report-searches.ts';
import { type Outcome, row, type Sweeper } from './run-sweeper.ts';
import { systemMailSweepers } from './system-mail-sweepers.ts';
import { webhookSweeper } from './webhook-sweeper.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const DAY = 24 * 60 * MINUTE;

/**
 * Operations, copies and leftover content listed at once: more than can begin at once, as some may belong to
 * one mailbox.
 */
const MOST_LISTED = 100;
/**
 * A draft and its approval are normally settled together, and a send goes from step to step; what remains after this was
 * interrupted, or takes long.
 */
const LEFT_FOR_MS = 2 * SECOND;
/** A draft is copied after this time without an edit, so that quick edits make one copy. */
const QUIET_MS = 2 * SECOND;
/** Best effort: a mailbox unreachable for longer keeps its copies. */
const COPIED_FOR_MS = DAY;
/** Longer than any gateway is down between a discard and its end. */
const CONTENT_LEFT_FOR_MS = 30 * DAY;

const operationIdOf = ({ operationId }: { readonly operationId: string }): string => operationId;
const draftIdOf = ({ draftId }: { readonly draftId: string }): string => draftId;
const mailboxIdOf = ({ mailboxId }: { readonly mailboxId: string }): string => mailboxId;
const done = (isOver: boolean): Outcome => (isOver ? 'settled' : 'later');

const byApprovals = (ports: Ports): readonly Sweeper[] => [
  row({
    name: 'approval-commits',
    everyMs: 500,
    atOnce: 16,
    ofOneMailbox: 2,
    pauses: { firstMs: SECOND, mostMs: 5 * MINUTE },
    probe: COMMIT_PROBE,
    find: (room) => listDueCommits(ports.sql, room),
    keyOf: operationIdOf,
    mailboxOf: mailboxIdOf,
    settle: async ({ operationId, orgId }) => {
      const author = systemAuthor(ports, orgId);
      return done(await commitDue(ports, { operationId, author, notePosition: () => undefined }));
    },
  }),
  // Queries no mail server, so no commit delays it.
  row({
    name: 'approval-ends',
    everyMs: 500,
    atOnce: 16,
    pauses: { firstMs: SECOND, mostMs: 5 * MINUTE },
    probe: OVERDUE_PROBE,
    find: (room) => listOverdueApprovals(ports.sql, room),
    keyOf: operationIdOf,
    settle: async (approval) => {
      await endOverdue(ports, approval);
      return 'settled';
    },
  }),
  row({
    name: 'draft-reviews',
    everyMs: SECOND,
    atOnce: 4,
    pauses: { firstMs: LEFT_FOR_MS, mostMs: MINUTE },
    probe: LEFT_REVIEW_PROBE,
    find: ({ now, limit, except }) =>
      listLeftReviews(ports.sql, { since: before(now, LEFT_FOR_MS), except, limit }),
    keyOf: operationIdOf,
    settle: async (review) => {
      await settleReview(ports, review);
      return 'settled';
    },
  }),
];

const patienceOf = ({ server }: Ports): Patience => ({ ...server.sendTimes, leftForMs: LEFT_FOR_MS });

const byOperations = (ports: Ports): readonly Sweeper[] => [
  row({
    name: 'operations',
    everyMs: SECOND,
    atOnce: 8,
    ofOneMailbox: 1,
    pauses: { firstMs: SECOND, mostMs: 15 * MINUTE },
    probe: UNSETTLED_PROBE,
    find: ({ except, busy }) =>
      listUnsettledOperations(ports.sql, { limit: MOST_LISTED, except, exceptMailboxes: busy }),
    keyOf: operationIdOf,
    mailboxOf: mailboxIdOf,
    settle: (operation) => settleOperation(ports, operation),
  }),
  row({
    name: 'sends',
    everyMs: 500,
    atOnce: 16,
    ofOneMailbox: 2,
    pauses: { firstMs: SECOND, mostMs: 15 * MINUTE },
    probe: sendProbe(patienceOf(ports)),
    find: (room) => listDueSends(ports.sql, { ...room, ...patienceOf(ports) }),
    keyOf: operationIdOf,
    mailboxOf: mailboxIdOf,
    settle: (send) => resumeSend(ports, send),
  }),
];

const byDrafts = (ports: Ports): readonly Sweeper[] => [
  row({
    name: 'draft-copies',
    everyMs: SECOND,
    atOnce: 4,
    ofOneMailbox: 1,
    pauses: { firstMs: 5 * SECOND, mostMs: 15 * MINUTE },
    probe: copyProbe(COPIED_FOR_MS),
    find: ({ now, except, busy }) =>
      listCopyWork(ports.sql, {
        quietSince: before(now, QUIET_MS),
        since: before(now, COPIED_FOR_MS),
        except,
        exceptMailboxes: busy,
        limit: MOST_LISTED,
      }),
    keyOf: draftIdOf,
    mailboxOf: mailboxIdOf,
    settle: (work) => copyDraft(ports, work),
  }),
  row({
    name: 'orphaned-drafts',
    everyMs: MINUTE,
    atOnce: 4,
    pauses: { firstMs: MINUTE, mostMs: 15 * MINUTE },
    find: ({ except }) => listOrphans(ports, except),
    keyOf: draftIdOf,
    settle: async (orphan) => done(await discardOrphan(ports, orphan)),
  }),
  row({
    name: 'draft-content',
    everyMs: MINUTE,
    atOnce: 4,
    pauses: { firstMs: MINUTE, mostMs: 15 * MINUTE },
    find: async ({ now }) => {
      const ids = await listLeftContent(ports.sql, before(now, CONTENT_LEFT_FOR_MS), MOST_LISTED);
      return ids.map((draftId) => ({ draftId }));
    },
    keyOf: draftIdOf,
    settle: async ({ draftId }) => {
      await ports.content.eraseDraft(draftId);
      return 'settled';
    },
  }),
  row({
    name: 'expired-content',
    everyMs: MINUTE,
    atOnce: 1,
    pauses: { firstMs: MINUTE, mostMs: MINUTE },
    find: ({ now }) => Promise.resolve([{ now }]),
    keyOf: () => 'all',
    settle: async ({ now }) => {
      await ports.content.eraseExpired(now);
      return 'settled';
    },
  }),
];

function listOrphans(
  { directory, sql }: Ports,
  except: readonly string[],
): ReturnType<typeof listUnsentDrafts> {
  const mailboxes = [...directory.state.mailboxes.values()];
  const removed = mailboxes.filter(({ state }) => state === 'removed').map(({ id }) => id);
  return listUnsentDrafts(sql, { mailboxIds: removed, except, limit: MOST_LISTED });
}

const byMailboxes = (ports: Ports): readonly Sweeper[] => [
  row({
    name: 'delivery-reports',
    // It goes over all mailboxes.
    everyMs: MINUTE,
    atOnce: 4,
    ofOneMailbox: 1,
    pauses: { firstMs: SECOND, mostMs: 15 * MINUTE },
    find: ({ except }) => listReportSearches(ports, except, MOST_LISTED),
    keyOf: mailboxIdOf,
    mailboxOf: mailboxIdOf,
    settle: (search) => findReports(ports, search),
  }),
];

/** All rows but those that keep something in memory (`run-sweepers.ts`). */
export const sweepersOf = (ports: Ports): readonly Sweeper[] => [
  ...byPeople(ports),
  ...byErasures(ports),
  ...byErasedKeys(ports),
  ...byApprovals(ports),
  ...byOperations(ports),
  ...byDrafts(ports),
  ...byMailboxes(ports),
  ...systemMailSweepers(ports),
  departuresSweeper(ports),
  webhookSweeper(ports),
  oauthStateSweeper(ports),
];

const before = (now: Date, ms: number): Date => new Date(now.getTime() - ms);

/** Settled by reading the mail server, at growing intervals. */
const isSearched = ({ status, send }: DraftState): boolean =>
  status === 'send_unknown' || (status === 'sending' && send?.retryAt === null);

/** Resumes due retries, interrupted and unknown sends, and Sent copies. */
async function resumeSend(ports: Ports, send: DueSend): Promise<Outcome> {
  const { operationId, draftId, orgId, lastFiledBy } = send;
  if (send.phase === 'sent' && send.told)
    return done(await fileSentCopy(ports, { operationId, orgId, draftId, lastFiledBy }));
  if ((await ports.leases.holder(operationId)) !== null) return 'later';
  const draft = await settleSend(ports, { operationId, orgId });
  return done(draft !== null && !isSearched(draft));
}

async function copyDraft(ports: Ports, { draftId, mailboxId }: CopyWork): Promise<Outcome> {
  const { state } = ports.directory;
  if (!isConnected(state, state.mailboxes.get(mailboxId))) return 'later';
  const lease = await holdLease(ports.leases, `draft-copy-${draftId}`);
  if (lease === null) return 'later';
  try {
    await keepDraftCopy(ports, createDraftCopies(ports.sql), draftId, lease);
    return 'settled';
  } finally {
    await lease.release();
  }
}

async function findReports(ports: Ports, search: ReportSearch): Promise<Outcome> {
  const lease = await holdLease(ports.leases, `delivery-reports-${search.mailboxId}`);
  if (lease === null) return 'held';
  try {
    return done(await searchReports(ports, createReportSearches(ports.sql), search));
  } finally {
    await lease.release();
  }
}
