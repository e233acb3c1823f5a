/**
 * A draft and its approval end together: when one has ended, the other follows. Every step can be repeated,
 * and a background pass completes interrupted ones.
 */
import { type Author, decideAndAppend, loadAggregate, systemAuthor } from '../kernel/decide-and-append.ts';
import { holdLease } from '../kernel/hold-lease.ts';
import type { Ports } from '../ports/ports.ts';
import type { ApprovalEnd } from '../operations/approval-state.ts';
import { decideExpiry } from '../operations/approval-decisions.ts';
import { operation, type OperationState } from '../operations/operation.ts';
import { isFrozenFor, releaseDraft } from '../drafts/decide-draft.ts';
import { draft, type DraftState } from '../drafts/draft.ts';
import type { Release } from '../drafts/draft-events.ts';
import { giveBack } from '../operations/send-quota.ts';
import { eraseFrozen, supersedeApproval } from '../drafts/supersede-approval.ts';

/** How a draft is released when its approval ended; null where the send records it. */
const RELEASE_AFTER: Readonly<Record<ApprovalEnd['status'], Release | null>> = {
  rejected: 'rejected',
  cancelled: 'cancelled',
  expired: 'expired',
  superseded: 'superseded',
  invalidated: 'invalidated',
  committed: null,
  commit_failed: null,
};

/**
 * To be called after an approval ended without a commit: the draft is open again, the frozen message is
 * erased, and a counted send is given back to the quota. Does nothing for an approval without a draft, or an
 * open one.
 */
export async function releaseDraftOf(
  ports: Ports,
  author: Author,
  operationId: string,
  state: OperationState,
): Promise<void> {
  const { approval } = state;
  const draftId = approval?.requested.draft_id ?? null;
  const why = approval?.phase === 'ended' ? RELEASE_AFTER[approval.end.status] : null;
  if (draftId === null || why === null) return;
  await giveBack(ports, author, operationId, state);
  await release(ports, author, { operationId, draftId }, why);
}

/**
 * Releases a draft whose approval is over, recorded or not. Returns true when the draft must be read again.
 */
export async function releaseIfOver(
  ports: Ports,
  orgId: string | null,
  { status, send }: DraftState,
): Promise<boolean> {
  if (status !== 'in_review' || send === null) return false;
  const { operation_id: operationId } = send.frozen;
  const author = systemAuthor(ports, orgId);
  const { state } = await decideAndAppend(ports, author, operation, {
    id: operationId,
    decide: decideExpiry,
  });
  await releaseDraftOf(ports, author, operationId, state);
  return state.approval?.phase === 'ended';
}

interface Review {
  readonly operationId: string;
  readonly draftId: string;
}

/** No commit can follow, so the bytes are erased first; after a crash the draft can still be released. */
async function release(
  ports: Ports,
  author: Author,
  { operationId, draftId }: Review,
  why: Release,
): Promise<void> {
  const { state } = await loadAggregate(ports.events, draft, draftId);
  if (!isFrozenFor(state, operationId)) return;
  await eraseFrozen(ports, state);
  await decideAndAppend(ports, author, draft, {
    id: draftId,
    decide: (now) => releaseDraft(now, operationId, why),
  });
}

/** The freeze and the request for approval run under the same lease. */
async function releaseUnasked(ports: Ports, author: Author, review: Review): Promise<void> {
  const lease = await holdLease(ports.leases, review.operationId);
  if (lease === null) return;
  try {
    const { position } = await loadAggregate(ports.events, operation, review.operationId);
    if (position === null) await release(ports, author, review, 'never_requested');
  } finally {
    await lease.release();
  }
}

export interface OpenReview extends Review {
  readonly orgId: string | null;
}

/** Brings a draft and its approval to the same end where one was left behind. */
export async function settleReview(ports: Ports, review: OpenReview): Promise<void> {
  const { operationId, draftId, orgId } = review;
  const author = systemAuthor(ports, orgId);
  const { state, position } = await loadAggregate(ports.events, operation, operationId);
  if (position === null) {
    await releaseUnasked(ports, author, review);
    return;
  }
  await releaseDraftOf(ports, author, operationId, state);
  const { state: now } = await loadAggregate(ports.events, draft, draftId);
  const isBound = now.status !== 'discarded' && now.send?.frozen.operation_id === operationId;
  if (!isBound) await supersedeApproval(ports, author, operationId, now);
}
