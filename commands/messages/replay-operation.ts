/** The answer to a key that was used before: the operation as it is now, never a second effect. */
import type { Context } from '../kernel/capability.ts';
import { type EventMetadata, type PastFact, readEvent } from '../values/event.ts';
import { keyInProgress, keyReused } from '../kernel/idempotency.ts';
import { holdLease } from '../kernel/hold-lease.ts';
import type { Ports } from '../ports/ports.ts';
import type { StoredEvent } from '../values/event.ts';
import { originalStatus, approvalReply } from '../operations/approval-reply.ts';
import { operation, type OperationReply, type OperationState, replyOf } from '../operations/operation.ts';
import type { OperationEvent } from '../operations/operation-events.ts';
import { reconcileOperation } from './reconcile-operation.ts';
import { systemAuthor } from '../kernel/system-author.ts';

/**
 * Throws `idempotency_key_reused` for another request, `idempotency_in_progress` while the first still runs.
 * When the first was interrupted and its lease is gone, its outcome is reconciled at once. An approval
 * returns its present state, whichever process works on it.
 */
export async function replayOperation(
  context: Context,
  operationId: string,
  stored: readonly StoredEvent[],
): Promise<OperationReply> {
  const { ports, fingerprint } = context;
  // The holder of the lease is about to write its intent.
  if (stored.length === 0) throw keyInProgress(1);
  const { state, orgId } = fold(stored);
  if (state.fingerprint !== fingerprint) throw keyReused();
  context.markReplayed();
  if (state.approval !== null) {
    context.notePosition(stored.at(-1)?.position);
    const reply = approvalReply(operationId, state, ports.clock.now());
    return { ...reply, original_status: originalStatus(state) };
  }
  if (state.results !== null) {
    context.notePosition(stored.at(-1)?.position);
    return { ...replyOf(operationId, state.results), original_status: 'completed' };
  }
  const results = await settleCutOff(ports, operationId, orgId);
  return { ...replyOf(operationId, results), original_status: 'completed' };
}

function fold(stored: readonly StoredEvent[]): { state: OperationState; orgId: string | null } {
  let orgId: EventMetadata['org_id'] = null;
  const state = stored.reduce((current, event) => {
    const fact = readEvent(operation.catalogue, event);
    if (fact === null) return current;
    orgId ??= fact.meta.org_id;
    return operation.evolve(current, fact as PastFact<OperationEvent>);
  }, operation.initial);
  return { state, orgId };
}

async function settleCutOff(
  ports: Ports,
  operationId: string,
  orgId: string | null,
): Promise<NonNullable<OperationState['results']>> {
  const holder = await ports.leases.holder(operationId);
  if (holder) {
    const left = holder.until.getTime() - ports.clock.now().getTime();
    throw keyInProgress(Math.min(30, Math.max(1, Math.ceil(left / 1_000))));
  }
  const lease = await holdLease(ports.leases, operationId);
  if (lease === null) throw keyInProgress(1);
  try {
    const reconciled = await reconcileOperation(ports, systemAuthor(ports, orgId), operationId);
    if (reconciled === null) throw keyInProgress(1);
    return reconciled.results;
  } finally {
    await lease.release();
  }
}
