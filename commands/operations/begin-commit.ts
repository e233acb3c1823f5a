/** Where a commit begins: the append that is the lock against every other end of its check. */
import { appendFacts, streamOf } from '../kernel/decide-and-append.ts';
import type { Ports } from '../ports/ports.ts';
import { WrongExpectedRevision } from '../ports/event-store.ts';
import { aboutOperation, operation, type OperationFact } from './operation.ts';
import { isOver } from './approval-status.ts';
import type { Committable } from './commit-kind.ts';

export interface CommitBegun {
  readonly revision: bigint;
  readonly at: Date;
}

/**
 * Started and intended in one append, at the revision everything was checked at. Null when another writer was first, and
 * when its time passed since: whoever looks from then on is told that it expired.
 */
export async function beginCommit(
  ports: Ports,
  { commit, state, approval, revision, started }: Committable,
  intent: OperationFact,
): Promise<CommitBegun | null> {
  const at = ports.clock.now();
  if (isOver(approval, at)) return null;
  const stream = streamOf(operation, commit.operationId);
  const { catalogue } = operation;
  const facts = [started, intent];
  try {
    const about = aboutOperation(commit.operationId, state.mailboxId, true);
    const to = { stream, expected: revision, catalogue, facts, occurredAt: at, about };
    return { revision: (await appendFacts(ports, commit.author, to)).revision, at };
  } catch (error) {
    if (error instanceof WrongExpectedRevision) return null;
    throw error;
  }
}
