/** Settles operations whose process is gone, or whose outcome is unknown, one by one. */
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
 * The result of a sweep. `left` could not be settled now and is tried again later. An operation that runs at
 * the moment, or is replayed by its key, is in neither.
 */
export interface Swept {
  readonly settled: readonly string[];
  readonly left: readonly string[];
}

/**
 * One pass over operations that may be interrupted. A live process keeps its lease, so a running operation is
 * never touched. Never throws: an operation that fails is left, so that it does not block those behind it.
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
