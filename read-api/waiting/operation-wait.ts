/** Waiting for operations to finish: the work of a request that was answered before its end. */
import type { Caller } from '../../commands/kernel/access.ts';
import type { Context } from '../../commands/kernel/capability.ts';
import { streamOf } from '../../commands/kernel/decide-and-append.ts';
import type { DirectoryState } from '../../commands/kernel/directory.ts';
import { notFound } from '../../commands/kernel/errors.ts';
import { EventMetadata, type PastFact, readEvent } from '../../commands/kernel/event.ts';
import type { FeedPlace } from '../../commands/kernel/observed-change.ts';
import type { Position, StoredEvent } from '../../commands/kernel/ports.ts';
import {
  operation,
  type OperationReply,
  type OperationState,
  replyOf,
} from '../../commands/operations/operation.ts';
import type { OperationEvent } from '../../commands/operations/operation-events.ts';
import type { Found, WaitSource } from './wait-for.ts';

export const MAX_OPERATIONS = 50;

interface Seen {
  readonly id: string;
  readonly state: OperationState;
  /** Who asked for it. */
  readonly principalId: string;
  /** Its last event: after the end, what settled an unknown outcome. */
  readonly lastAt: Position;
}

/** Each of them counts when it finishes, and again when an outcome that was unknown is settled. */
export function operationsThat(
  context: Context,
  mailboxId: string,
  operationIds: readonly string[],
): WaitSource<OperationReply> {
  const ids = [...new Set(operationIds)];
  return { ids, find: (after, caller) => findFinished({ ...context, caller }, { mailboxId, ids }, after) };
}

async function findFinished(
  { caller, ports }: Context,
  { mailboxId, ids }: { readonly mailboxId: string; readonly ids: readonly string[] },
  after: FeedPlace,
): Promise<Found<OperationReply>> {
  // Read before the streams: what one of them holds beyond is told by the feed in a moment, and counts then.
  const upTo = ports.feed.reached;
  const streams = await Promise.all(ids.map((id) => ports.events.readStream(streamOf(operation, id))));
  const seen = ids.map((id, index) => seenOf(id, streams[index] ?? []));
  for (const one of seen) {
    if (one?.state.mailboxId !== mailboxId || !maySee(caller, ports.directory.state, one)) {
      throw notFound('operation');
    }
  }
  const finished = seen
    .filter((one) => one !== null)
    .filter(({ state, lastAt }) => state.completed && lastAt > after.position && lastAt <= upTo)
    .sort((a, b) => Number(a.lastAt - b.lastAt));
  const items = finished.map(({ id, state }) => replyOf(id, state.results ?? []));
  return { items, upTo: { position: upTo, index: null }, more: false };
}

/** Null for an operation that does not exist. */
function seenOf(id: string, stored: readonly StoredEvent[]): Seen | null {
  const [first] = stored;
  const last = stored.at(-1);
  if (!first || !last) return null;
  const state = stored.reduce((current, event) => {
    const fact = readEvent(operation.catalogue, event) as PastFact<OperationEvent> | null;
    return fact === null ? current : operation.evolve(current, fact);
  }, operation.initial);
  const principalId = EventMetadata.parse(first.metadata).actor.id;
  return { id, state, principalId, lastAt: last.position };
}

/** The requester, the person behind, and whoever may read there what it is about (`contract.md` 3). */
function maySee(caller: Caller, { agents }: DirectoryState, { principalId, state }: Seen): boolean {
  const isOwn =
    caller.principal.id === principalId || caller.principal.id === agents.get(principalId)?.ownerId;
  const scope = state.send === null ? 'messages:read' : 'drafts:read';
  return isOwn || caller.mailboxes.get(state.mailboxId ?? '')?.scopes.has(scope) === true;
}
