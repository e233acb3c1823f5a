/** Commits a check of whichever kind it is. Each area says how its own is executed. */
import { loadAggregate } from '../kernel/decide-and-append.ts';
import { GatewayError } from '../values/errors.ts';
import type { Ports } from '../ports/ports.ts';
import { actionsCommit } from '../messages/commit-actions.ts';
import { commitCheck } from '../operations/run-commit.ts';
import type { Commit } from '../operations/commit-kind.ts';
import { operation, type OperationReply } from '../operations/operation.ts';
import { sendCommit } from '../sending/commit-send.ts';
import { releaseDraftOf } from '../sending/release-draft.ts';

/** Throws what `commitCheck` throws. A check that ended by it is followed by its draft. */
export async function commitOf(ports: Ports, commit: Commit): Promise<OperationReply> {
  const loaded = commit.loaded ?? (await loadAggregate(ports.events, operation, commit.operationId));
  const first = { ...commit, loaded };
  if (loaded.state.approval?.requested.draft_id == null)
    return await commitCheck(ports, first, actionsCommit);
  try {
    return await commitCheck(ports, first, sendCommit);
  } catch (error) {
    if (error instanceof GatewayError) {
      const { state } = await loadAggregate(ports.events, operation, commit.operationId);
      await releaseDraftOf(ports, commit.author, commit.operationId, state);
    }
    throw error;
  }
}
