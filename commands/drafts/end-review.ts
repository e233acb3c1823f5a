/**
 * A draft and its approval end together: when one has ended, the other follows. Every step can be repeated,
 * and a background pass completes interrupted ones.
 */
import { type Author, decideAndAppend, loadAggregate, systemAuthor } from '../kernel/decide-and-append.ts';
import { holdLease } from '../kernel/hold-lease.ts';
import type { Ports } from '../ports/ports.ts';
import { type ApprovalEnd, approvalStatus, isOpen } from '../operations/approval-state.ts';
import { decideExpiry } from '../operations/approval-decisions.ts';
import { operation, type OperationFact, type OperationState } from '../operations/operation.ts';
import { giveBack } from '../operations/send-quota.ts';
import { isFrozenFor, releaseDraft } from './decide-draft.ts';
import { draft, type DraftState } from './draft.ts';
import type { Release } from './draft-events.ts';

/** The end of an approval whose draft is no longer frozen for it: edited, or discarded. */
export const overtaken = ({ status, current }: DraftState): OperationFact =>
  status === 'discarded'
    ? invalidated('draft_discarded')
    : { type: 'ApprovalSuperseded', data: { draft_version: current?.version ?? 0 } };

export const invalidated = (reason: 'draft_discarded' | 'manifest_mismatch'): OperationFact => ({
  type: 'ApprovalInvalidated',
  data: { reason, policy: null },
});

const eraseFrozen = async ({ content }: Ports, { send }: DraftState): Promise<void> => {
  if (send !== null) await content.erase([send.frozen.mime_id]);
};

/** Ends the approval that the draft was in review for before the edit or the discard. */
export async function endReviewOf(
  ports: Ports,
  author: Author,
  { before, after }: { readonly before: DraftState; readonly after: DraftState },
): Promise<void> {
  if (before.status !== 'in_review' || before.send === null || after.status === 'in_review') return;
  await eraseFrozen(ports, before);
  await supersedeApproval(ports, author, before.send.frozen.operation_id, after);
}

/**
 * Ends an open approval. A running commit finds the changed draft itself; an expired approval has already
 * ended. This approval can send nothing now, so its quota is given back first: a crash in between costs
 * nothing.
 */
export async function supersedeApproval(
  ports: Ports,
  author: Author,
  operationId: string,
  after: DraftState,
): Promise<void> {
  const loaded = await loadAggregate(ports.events, operation, operationId);
  const decide = ({ approval }: OperationState, now: Date): readonly OperationFact[] =>
    approval !== null && isOpen(approvalStatus(approval, { now, hasUnknown: false }))
      ? [overtaken(after)]
      : [];
  if (decide(loaded.state, ports.clock.now()).length === 0) return;
  await giveBack(ports, author, operationId, loaded.state);
  await decideAndAppend(ports, author, operation, { id: operationId, loaded, decide });
}

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

interface OpenReview extends Review {
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
