/** A person resolves an unknown outcome. The caller must have tested that the person may do so. */
import { type Author, decideAndAppend, loadAggregate } from '../kernel/decide-and-append.ts';
import { GatewayError, notFound } from '../values/errors.ts';
import type { Ports } from '../ports/ports.ts';
import { operation, type OperationState } from '../operations/operation.ts';
import {
  nothingUnknown,
  resolveActions,
  resolved,
  unknownItems,
  type Word,
} from '../messages/resolve-actions.ts';
import { draft, type DraftFact } from '../drafts/draft.ts';
import { concludeSend } from '../sending/conclude-send.ts';
import { givenUp, sent } from '../sending/decide-send.ts';

interface Resolution {
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

/**
 * Settles an unknown send as done or not done. The author is the person; the caller of this function records
 * `reason`. Repeating the same decision changes nothing. Throws `not_found` for an operation that sends
 * nothing, `conflict` for a send that is not, or no longer, unknown.
 */
export async function resolveSend(
  ports: Ports,
  author: Author,
  operationId: string,
  word: 'done' | 'not_done',
): Promise<void> {
  const { send } = (await loadAggregate(ports.events, operation, operationId)).state;
  if (send === null) throw notFound('operation');
  const { state } = await decideAndAppend(ports, author, draft, {
    id: send.draftId,
    decide: (now): readonly DraftFact[] => {
      const end = now.sendEnds[operationId]?.kind;
      if (end === (word === 'done' ? 'sent' : 'failed')) return [];
      if (end !== 'unknown' || now.status !== 'send_unknown' || now.send === null) throw notUnknown();
      return [word === 'done' ? sent(now.send, 'person') : givenUp(now.send, 'person')];
    },
  });
  await concludeSend(ports, author, { operationId }, state);
}

const notUnknown = (): GatewayError =>
  new GatewayError('conflict', 'Only a send with an unknown outcome can be resolved.');
