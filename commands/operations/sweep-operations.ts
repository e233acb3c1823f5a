/** Finds operations whose runner is gone, or whose outcome is unknown, and settles them one by one. */
import { GatewayError } from '../kernel/errors.ts';
import { holdLease } from '../kernel/hold-lease.ts';
import type { Ports } from '../kernel/ports.ts';
import { systemAuthor } from '../kernel/system-author.ts';
import { reconcileOperation } from './reconcile-operation.ts';

export interface Unsettled {
  readonly operationId: string;
  readonly orgId: string | null;
}

/** What a sweep did; `left` could not be settled now and is looked at again later. */
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
    const isSettled = await settleIfPossible(ports, each);
    (isSettled ? settled : left).push(each.operationId);
  }
  return { settled, left };
}

async function settleIfPossible(ports: Ports, unsettled: Unsettled): Promise<boolean> {
  try {
    return await settle(ports, unsettled);
  } catch (error) {
    const { operationId } = unsettled;
    if (error instanceof GatewayError)
      ports.log.warn('an operation could not be looked up yet', { operationId, code: error.code });
    else ports.log.error('looking up an operation met a defect', { operationId, error: String(error) });
    return false;
  }
}

async function settle(ports: Ports, { operationId, orgId }: Unsettled): Promise<boolean> {
  if ((await ports.leases.holder(operationId)) !== null) return false;
  const lease = await holdLease(ports.leases, operationId);
  if (lease === null) return false;
  try {
    const reconciled = await reconcileOperation(ports, systemAuthor(ports, orgId), operationId);
    return reconciled !== null && reconciled.unknown === 0;
  } finally {
    await lease.release();
  }
}
