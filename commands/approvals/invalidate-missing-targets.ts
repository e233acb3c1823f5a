/** Ends an open approval whose deadline has passed, or when something it depends on is gone (`contract.md` 10). */
import { decideAndAppend, loadAggregate, type Loaded, systemAuthor } from '../kernel/decide-and-append.ts';
import { untilRightsKnown } from '../kernel/rights-known.ts';
import type { Ports } from '../ports/ports.ts';
import type { Invalidation } from '../operations/approval-events.ts';
import { approvalStatusOf } from '../operations/approval-reply.ts';
import { isOpen } from '../operations/approval-state.ts';
import type { CommitKind } from '../operations/commit-kind.ts';
import { decideExpiry, decideInvalidation } from '../operations/approval-decisions.ts';
import type { Manifest } from '../operations/manifest.ts';
import { operation, type OperationState } from '../operations/operation.ts';
import { groundOf } from '../operations/revalidate-approval.ts';
import { actionsCommit } from '../messages/commit-actions.ts';
import { releaseDraftOf } from '../drafts/end-review.ts';
import { sendCommit } from '../sending/commit-send.ts';

interface MaybeLost {
  readonly operationId: string;
  readonly orgId: string | null;
  /** The state as read just before, if the caller has it. */
  readonly loaded?: Loaded<OperationState>;
}

/**
 * Returns true when this call ended the approval: requester, approver, grant, mailbox or target are gone.
 * Ignores an approval that is not open. Throws `store_unavailable` while this process may lack a change of
 * rights, and with `asksServer` the error that keeps the mailbox from answering.
 */
export async function invalidateMissingTargets(
  ports: Ports,
  { operationId, orgId, loaded }: MaybeLost,
  asking: { readonly asksServer: boolean },
): Promise<boolean> {
  const read = loaded ?? (await loadAggregate(ports.events, operation, operationId));
  await untilRightsKnown(ports.directory);
  const isSend = read.state.approval?.requested.draft_id != null;
  const reason = isSend
    ? await lostOf(ports, { operationId, ...read }, sendCommit, asking)
    : await lostOf(ports, { operationId, ...read }, actionsCommit, asking);
  if (reason === null) return false;
  const author = systemAuthor(ports, orgId);
  const { state } = await decideAndAppend(ports, author, operation, {
    id: operationId,
    loaded: read,
    decide: (before, now) => decideInvalidation(before, { reason, now }),
  });
  await releaseDraftOf(ports, author, operationId, state);
  return true;
}

/** An unreadable manifest does not end the approval here: the commit finds and reports it. */
async function lostOf<Content extends Manifest>(
  ports: Ports,
  { operationId, state }: Loaded<OperationState> & { readonly operationId: string },
  kind: CommitKind<Content>,
  asking: { readonly asksServer: boolean },
): Promise<Invalidation | null> {
  const now = ports.clock.now();
  const status = approvalStatusOf(state, now);
  if (state.approval === null || !isOpen(status)) return null;
  const ground = await groundOf(ports, { operationId, approval: state.approval, state, now }, kind);
  if (typeof ground !== 'string') return await kind.lost(ports, ground, asking);
  return ground === 'manifest_mismatch' ? null : ground;
}

/** Ends an approval whose deadline has passed. */
export async function endOverdue(
  ports: Ports,
  { operationId, orgId }: { readonly operationId: string; readonly orgId: string | null },
): Promise<void> {
  const author = systemAuthor(ports, orgId);
  const { state } = await decideAndAppend(ports, author, operation, {
    id: operationId,
    decide: decideExpiry,
  });
  await releaseDraftOf(ports, author, operationId, state);
}
