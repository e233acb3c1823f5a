/** Tells the operation what became of its send; the draft's stream has it first, so this can be repeated. */
import { type Author, decideAndAppend, loadAggregate } from '../../kernel/decide-and-append.ts';
import type { Fact } from '../../kernel/event.ts';
import type { Ports, Position } from '../../kernel/ports.ts';
import { operation, type OperationState } from '../../operations/operation.ts';
import type { operationEvents, SendOutcome } from '../../operations/operation-events.ts';
import { giveQuotaBack } from './send-quota.ts';

export interface Closed {
  readonly state: OperationState;
  readonly position: Position | null;
}

/** Records an outcome, or a better one than "unknown". What surely did not happen is given back to the quota first. */
export async function closeOperation(
  ports: Ports,
  author: Author,
  operationId: string,
  outcome: SendOutcome,
): Promise<Closed> {
  if (outcome.outcome === 'failed') await giveBack(ports, author, operationId);
  return await decideAndAppend(ports, author, operation, {
    id: operationId,
    decide: ({ send }) => (send === null ? [] : factsOf(send.outcome, outcome)),
  });
}

async function giveBack(ports: Ports, author: Author, operationId: string): Promise<void> {
  const { send } = (await loadAggregate(ports.events, operation, operationId)).state;
  if (send?.intendedBy.type !== 'agent') return;
  const intendedAt = new Date(send.intendedAt);
  await giveQuotaBack(ports, author, send.intendedBy.id, { id: operationId, intendedAt });
}

type OperationFact = Fact<(typeof operationEvents)[number]>;

function factsOf(before: SendOutcome | null, now: SendOutcome): readonly OperationFact[] {
  if (before === null) {
    return [
      { type: 'SendOutcomeRecorded', data: now },
      { type: 'OperationCompleted', data: { summary: summaryOf(now) } },
    ];
  }
  return before.outcome === 'unknown' && now.outcome !== 'unknown'
    ? [{ type: 'SendReconciled', data: now }]
    : [];
}

/** One message is one item. */
export const summaryOf = ({ outcome }: SendOutcome): { done: number; failed: number; unknown: number } => ({
  done: outcome === 'done' ? 1 : 0,
  failed: outcome === 'failed' ? 1 : 0,
  unknown: outcome === 'unknown' ? 1 : 0,
});
