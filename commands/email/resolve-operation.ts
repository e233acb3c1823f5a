/** A person resolves an unknown outcome. The caller must have tested that the person may do so. */
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

/** Throws `conflict` when nothing of it is unknown, or it has no outcome yet. */
export function assertUnknown({ send, results }: Pick<OperationState, 'send' | 'results'>): void {
  if (send === null) unknownItems({ results });
  else if (send.outcome?.outcome !== 'unknown') throw nothingUnknown();
}

/**
 * Settles everything unknown of the operation and returns the state after it. Throws `not_found` for an id of
 * no operation, `conflict` when nothing is unknown.
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
  // The outcome goes to the draft's stream first; a call that is interrupted here can be repeated.
  await resolveSend(ports, author, operationId, word);
  return (await loadAggregate(ports.events, operation, operationId)).state;
}
