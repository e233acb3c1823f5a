/** Finds operations whose runner is gone, or whose outcome is unknown, and settles them one by one. */
import { GatewayError } from '../values/errors.ts';
import { holdLease } from '../kernel/hold-lease.ts';
import type { Ports } from '../ports/ports.ts';
import { systemAuthor } from '../kernel/system-author.ts';
import { reconcileOperation } from './reconcile-operation.ts';

export interface Unsettled {
  readonly operationId: string;
  readonly orgId: string | null;
}

/**
 * What a sweep did; `left` could not be settled now and is looked at again later. What somebody runs at the moment, or asks for
 * again with its key, is in neither.
 */
export interface Swept {
  readonly settled: readonly string[];
  readonly left: readonly string[];
}

/**
 * One pass over operations that may be cut off. A live runner keeps its lease, so nothing that still runs is touched. Never
 * throws: what fails is left, whatever it met, so that no operation is in the way of those behind it.
 */
export async function sweepOperations(ports: Ports, unsettled: readonly Unsettled[]): Promise<Swept> {
  const settled: string[] = [];
  const left: string[] = [];
  for (const each of unsettled) {
    const end = await settleIfPossible(ports, each);
    if (end === 'settled') settled.push(each.operationId);
    else if (end === 'left') left.push(each.operationId);
  }
  return { settled, left };
}

type End = 'settled' | 'left' | 'held';

async function settleIfPossible(ports: Ports, unsettled: Unsettled): Promise<End> {
  try {
    return await settle(ports, unsettled);
  } catch (error) {
    const { operationId } = unsettled;
    if (error instanceof GatewayError)
      ports.log.warn('operation: reconciliation postponed', { operationId, code: error.code });
    else
      ports.log.error('operation: internal error in reconciliation', { operationId, error: String(error) });
    return 'left';
  }
}

async function settle(ports: Ports, { operationId, orgId }: Unsettled): Promise<End> {
  if ((await ports.leases.holder(operationId)) !== null) return 'held';
  const lease = await holdLease(ports.leases, operationId);
  if (lease === null) return 'held';
  try {
    const reconciled = await reconcileOperation(ports, systemAuthor(ports, orgId), operationId);
    return reconciled?.unknown === 0 ? 'settled' : 'left';
  } finally {
    await lease.release();
  }
}
