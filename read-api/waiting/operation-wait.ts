/** Waits for operations to finish that were still running when their request was answered. */
import { assertMayRead, sightOf } from '../../commands/approvals/operation-sight.ts';
import type { Context } from '../../commands/kernel/capability.ts';
import { loadAggregate } from '../../commands/kernel/decide-and-append.ts';
import { notFound } from '../../commands/values/errors.ts';
import type { FeedPlace } from '../../commands/ports/change-feed.ts';
import { operation, type OperationState } from '../../commands/operations/operation.ts';
import { described, Operation } from '../operations/operation-view.ts';
import type { Found, WaitSource } from './wait-for.ts';
import type { z } from 'zod';

export const MAX_OPERATIONS = 50;

/** As in `GET /operations/<id>`, without the audit trail. */
export const FinishedOperation = Operation.omit({ events: true });
export type FinishedOperation = z.output<typeof FinishedOperation>;

/** Matches each operation when it finishes or will never run, and again when an unknown outcome is settled. */
export function operationsThat(
  context: Context,
  mailboxId: string,
  operationIds: readonly string[],
): WaitSource<FinishedOperation> {
  const ids = [...new Set(operationIds)];
  return { ids, find: (after, caller) => findFinished({ ...context, caller }, { mailboxId, ids }, after) };
}

async function findFinished(
  { caller, ports }: Context,
  { mailboxId, ids }: { readonly mailboxId: string; readonly ids: readonly string[] },
  after: FeedPlace,
): Promise<Found<FinishedOperation>> {
  // Read before the streams: a later event of one of them reaches the feed soon and counts then.
  const upTo = ports.feed.reached;
  const loaded = await Promise.all(ids.map((id) => loadAggregate(ports.events, operation, id)));
  for (const { state } of loaded) {
    const sight = state.mailboxId === mailboxId ? await sightOf({ caller, ports }, state) : null;
    if (sight === null) throw notFound('operation');
    assertMayRead(caller, state);
  }
  const now = ports.clock.now();
  const finished = loaded.flatMap(({ state, position }, index) => {
    const isNews = position !== null && position > after.position && position <= upTo;
    return isNews && isFinished(state) ? [{ position, id: ids[index] ?? '', state }] : [];
  });
  const items = await Promise.all(
    finished
      .sort((a, b) => Number(a.position - b.position))
      .map(({ id, state }) => finishedOf(ports, { id, state, now })),
  );
  return { items, upTo: { position: upTo, index: null }, more: false };
}

/** Every item has an outcome, or the approval ended first. */
const isFinished = ({ completed, approval }: OperationState): boolean =>
  completed || approval?.phase === 'ended';

async function finishedOf(
  ports: Context['ports'],
  { id, state, now }: { readonly id: string; readonly state: OperationState; readonly now: Date },
): Promise<FinishedOperation> {
  const { events: _, ...operation } = await described(ports, id, state, { events: [], now });
  return operation;
}
