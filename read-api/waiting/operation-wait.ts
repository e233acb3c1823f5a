/** Waiting for operations to finish: the work of a request that was answered before its end. */
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

/** As `GET /operations/<id>` has it, without its lines of the audit trail. */
export const FinishedOperation = Operation.omit({ events: true });
export type FinishedOperation = z.output<typeof FinishedOperation>;

/** Each of them counts when it finishes or will never run, and again when an outcome that was unknown is settled. */
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
  // Read before the streams: what one of them holds beyond is told by the feed in a moment, and counts then.
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

/** Nothing more comes of it: everything has an outcome, or its approval ended first. */
const isFinished = ({ completed, approval }: OperationState): boolean =>
  completed || approval?.phase === 'ended';

async function finishedOf(
  ports: Context['ports'],
  { id, state, now }: { readonly id: string; readonly state: OperationState; readonly now: Date },
): Promise<FinishedOperation> {
  const { events: _, ...told } = await described(ports, id, state, { events: [], now });
  return told;
}
