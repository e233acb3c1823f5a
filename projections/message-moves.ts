/** `read.message_move`: the old and new id of each message that this gateway moved. */
import type { MessageMove, Sql } from '../commands/ports/ports.ts';
import { relocates } from '../commands/messages/actions.ts';
import type { ItemResult } from '../commands/operations/operation-events.ts';
import { type ProjectedEvent, type Projection, splitStreamName } from './projection.ts';

export const messageMoves: Projection = {
  name: 'message_moves',
  version: 1,
  tables: ['message_move'],
  create: (tableOf) => [
    `create table ${tableOf('message_move')} (message_id text primary key, new_id text, operation_id text not null)`,
  ],
  apply: async ({ events, sql, tableOf }) => {
    const moves = collapse(events.flatMap(movesOf));
    if (moves.length === 0) return;
    const table = tableOf('message_move');
    await sql.query(
      `insert into ${table} as m (message_id, new_id, operation_id)
       select * from unnest($1::text[], $2::text[], $3::text[])
       on conflict (message_id) do update
         set new_id = coalesce(excluded.new_id, m.new_id), operation_id = excluded.operation_id`,
      [
        moves.map(({ messageId }) => messageId),
        moves.map(({ newId }) => newId),
        moves.map(({ operationId }) => operationId),
      ],
    );
  },
};

function movesOf({ streamName, fact }: ProjectedEvent): readonly MessageMove[] {
  if (fact.type === 'ActionOutcomesRecorded' || fact.type === 'ActionsReconciled') {
    const { id: operationId } = splitStreamName(streamName);
    return fact.data.results.filter(isMove).map(({ message_id, new_message_id }) => ({
      messageId: message_id,
      newId: new_message_id ?? null,
      operationId,
    }));
  }
  if (fact.type !== 'MailboxChangesObserved') return [];
  // The feed reports where a message arrived when the mail server's answer did not.
  return fact.data.changes.flatMap(({ previous, locator, operation_id }) =>
    previous === undefined || operation_id === undefined
      ? []
      : [{ messageId: previous, newId: locator, operationId: operation_id }],
  );
}

/** A message already in the target keeps its id. */
const isMove = ({ action, outcome, message_id, new_message_id }: ItemResult): boolean =>
  relocates({ type: action }) && outcome === 'done' && new_message_id !== message_id;

/** One row per message, because an insert must not touch a row twice. */
function collapse(moves: readonly MessageMove[]): readonly MessageMove[] {
  const byMessage = new Map<string, MessageMove>();
  for (const move of moves) {
    const newId = move.newId ?? byMessage.get(move.messageId)?.newId ?? null;
    byMessage.set(move.messageId, { ...move, newId });
  }
  return [...byMessage.values()];
}

/** At most this many moves of one message are followed. */
const MAX_MOVES = 50;

/** The moves of a message, first to last. */
export async function followMoves(sql: Sql, messageId: string): Promise<readonly MessageMove[]> {
  const rows = await sql.query<{ message_id: string; new_id: string | null; operation_id: string }>(
    `with recursive moves as (
       select message_id, new_id, operation_id, 1 as step from read.message_move where message_id = $1
       union all
       select m.message_id, m.new_id, m.operation_id, moves.step + 1
       from moves join read.message_move m on m.message_id = moves.new_id where moves.step < $2)
     select message_id, new_id, operation_id from moves order by step`,
    [messageId, MAX_MOVES],
  );
  return rows.map(({ message_id, new_id, operation_id }) => ({
    messageId: message_id,
    newId: new_id,
    operationId: operation_id,
  }));
}
