/** A person's decision about a send with an unknown outcome. */
import { type Author, decideAndAppend, loadAggregate } from '../kernel/decide-and-append.ts';
import { GatewayError, notFound } from '../values/errors.ts';
import type { Ports } from '../ports/ports.ts';
import { operation } from '../operations/operation.ts';
import { draft, type DraftFact } from '../drafts/draft.ts';
import { concludeSend } from './conclude-send.ts';
import { givenUp, sent } from './decide-send.ts';

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
  await concludeSend(ports, author, operationId, state);
}

const notUnknown = (): GatewayError =>
  new GatewayError('conflict', 'Only a send with an unknown outcome can be resolved.');
