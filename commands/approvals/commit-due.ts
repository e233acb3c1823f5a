/** Automatic work on approvals: commits those that are due and records other ends. */
import type { Author } from '../kernel/decide-and-append.ts';
import { ERROR_TABLE, GatewayError } from '../values/errors.ts';
import type { Ports } from '../ports/ports.ts';
import { decideAndAppend, loadAggregate, systemAuthor } from '../kernel/decide-and-append.ts';
import type { Commit } from '../operations/commit-kind.ts';
import { decideExpiry } from '../operations/approval-decisions.ts';
import { releaseDraftOf } from '../sending/release-draft.ts';
import { actionsCommit } from '../messages/commit-actions.ts';
import { runCommit } from '../operations/run-commit.ts';
import { operation, type OperationReply } from '../operations/operation.ts';
import { sendCommit } from '../sending/commit-send.ts';

/**
 * Commits an approval that is due. Returns true when nothing is left to do now: it ran or it ended. Returns
 * false when a temporary error prevented it and it must be tried again after a pause. Throws for a defect.
 */
export async function commitDue(
  ports: Ports,
  due: Pick<Commit, 'operationId' | 'author' | 'notePosition'>,
): Promise<boolean> {
  try {
    await commitOf(ports, { ...due, by: 'schedule' });
    return true;
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    const { code } = error;
    ports.log.info('approval: automatic commit did not run', { operation_id: due.operationId, code });
    return !ERROR_TABLE[code].retryable;
  }
}

/** Ends an approval whose deadline has passed. */
export async function endOverdue(
  ports: Ports,
  { operationId, orgId }: { readonly operationId: string; readonly orgId: string | null },
): Promise<void> {
  const author: Author = systemAuthor(ports, orgId);
  const { state } = await decideAndAppend(ports, author, operation, {
    id: operationId,
    decide: decideExpiry,
  });
  await releaseDraftOf(ports, author, operationId, state);
}

/** Throws what `runCommit` throws. When the approval of a send ended by it, the draft is released. */
export async function commitOf(ports: Ports, commit: Commit): Promise<OperationReply> {
  const loaded = commit.loaded ?? (await loadAggregate(ports.events, operation, commit.operationId));
  const first = { ...commit, loaded };
  if (loaded.state.approval?.requested.draft_id == null) return await runCommit(ports, first, actionsCommit);
  try {
    return await runCommit(ports, first, sendCommit);
  } catch (error) {
    if (error instanceof GatewayError) {
      const { state } = await loadAggregate(ports.events, operation, commit.operationId);
      await releaseDraftOf(ports, commit.author, commit.operationId, state);
    }
    throw error;
  }
}
