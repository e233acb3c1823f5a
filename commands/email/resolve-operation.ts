/** A person says what became of an operation of which nobody could tell. Whoever calls this made sure that a person may. */
import { type Author, decideAndAppend, loadAggregate } from '../kernel/decide-and-append.ts';
import { notFound } from '../values/errors.ts';
import type { Ports } from '../ports/ports.ts';
import { resolveSend } from '../sending/resolve-send.ts';
import { operation, type OperationState } from '../operations/operation.ts';
import {
  nothingUnknown,
  resolveActions,
  resolved,
  unknownItems,
  type Word,
} from '../messages/resolve-actions.ts';

export interface Resolution {
  readonly outcome: Word;
  readonly reason: string;
}

/** Throws `conflict` when nothing of it is unknown (any more), or not yet. */
export function assertUnknown({ send, results }: Pick<OperationState, 'send' | 'results'>): void {
  if (send === null) unknownItems({ results });
  else if (send.outcome?.outcome !== 'unknown') throw nothingUnknown();
}

/**
 * Settles everything of it that is unknown. The state after it. Throws `not_found` for an id that is no operation's,
 * `conflict` when nothing is unknown (any more).
 */
export async function resolveOperation(
  ports: Ports,
  author: Author,
  operationId: string,
  { outcome: word, reason }: Resolution,
): Promise<OperationState> {
  const { state } = await loadAggregate(ports.events, operation, operationId);
  if (state.mailboxId === null) throw notFound('operation');
  const sealed = await ports.personal.seal(state.mailboxId, reason);
  const command = {
    id: operationId,
    decide: (before: OperationState, now: Date) => {
      assertUnknown(before);
      return before.send === null
        ? resolveActions(before, word, { reason: sealed, now })
        : [resolved(word, sealed)];
    },
  };
  const { state: after } = await decideAndAppend(ports, author, operation, command);
  if (after.send === null) return after;
  // The draft's stream is told first what became of its send; a command that is cut off here can be repeated.
  await resolveSend(ports, author, operationId, word);
  return (await loadAggregate(ports.events, operation, operationId)).state;
}
