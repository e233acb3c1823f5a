/** `read.approval_target`: which messages open approvals are about, and which of them an event may have taken away. */
import { withPrefix } from '../commands/values/ids.ts';
import { takesAway } from '../commands/messages/actions.ts';
import type { OperationState } from '../commands/operations/operation.ts';
import type { Batch, ProjectedEvent, Tables } from './projection.ts';

/** Keeps what was asked for: each operation with its state. A stale target was gone before. */
export async function keepTargets(
  { sql, tableOf }: Tables,
  asked: readonly (readonly [operationId: string, state: OperationState])[],
): Promise<void> {
  const targets = asked.flatMap(([id, state]) =>
    state.targets.flatMap(({ message_id, stale }) =>
      stale ? [] : [[message_id, withPrefix('chk', id)] as const],
    ),
  );
  if (targets.length === 0) return;
  await sql.query(
    `insert into ${tableOf('approval_target')} (message_id, approval_id)
     select distinct * from unnest($1::text[], $2::text[]) on conflict do nothing`,
    [targets.map(([messageId]) => messageId), targets.map(([, approvalId]) => approvalId)],
  );
}

export async function forgetTargets({ sql, tableOf }: Tables, approvalIds: readonly string[]): Promise<void> {
  if (approvalIds.length === 0) return;
  await sql.query(`delete from ${tableOf('approval_target')} where approval_id = any($1::text[])`, [
    approvalIds,
  ]);
}

/** Marks the open approvals about messages that the events of the batch may have taken away. */
export async function suspectLost({ events, sql, tableOf }: Batch): Promise<void> {
  const approval = tableOf('approval');
  const left = events.flatMap((event) => leftBy(event).map((id) => [id, String(event.position)] as const));
  if (left.length > 0) {
    await sql.query(
      `update ${approval} a set suspected = s.position from (
         select t.approval_id, max(l.position) as position from ${tableOf('approval_target')} t
         join unnest($1::text[], $2::bigint[]) as l(message_id, position) using (message_id) group by 1
       ) s where a.id = s.approval_id and a.ended is null`,
      [left.map(([id]) => id), left.map(([, position]) => position)],
    );
  }
  for (const { fact, position } of events) {
    if (fact.type !== 'FolderReset') continue;
    await sql.query(
      `update ${approval} set suspected = $2 where mailbox_id = $1 and ended is null and draft_id is null`,
      [fact.data.mailbox_id, position],
    );
  }
}

/** Ids of messages that are not at their place any more, or are marked as deleted there. */
function leftBy({ fact }: ProjectedEvent): readonly string[] {
  if (fact.type === 'MailboxChangesObserved') {
    return fact.data.changes.flatMap(({ kind, locator, previous }) =>
      kind === 'deleted' || (kind === 'moved' && previous === undefined) ? [locator] : [],
    );
  }
  if (fact.type !== 'ActionOutcomesRecorded' && fact.type !== 'ActionsReconciled') return [];
  return fact.data.results.flatMap(({ action, outcome, message_id, new_message_id }) =>
    takesAway({ type: action }) && outcome === 'done' && new_message_id !== message_id ? [message_id] : [],
  );
}
