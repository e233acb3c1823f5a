/** Reading `read.operation`. Organisation and visibility are conditions of the query. */
import type { OperationsVisible } from '../commands/approvals/operation-sight.ts';
import type { EventMetadata } from '../commands/values/event.ts';
import type { Sql } from '../commands/ports/ports.ts';
import type { OperationProgress } from '../commands/operations/approval-reply.ts';
import type { Summary } from '../commands/operations/operation-events.ts';

interface OperationFilter {
  readonly state: OperationProgress | null;
  readonly mailboxId: string | null;
}

export interface OperationRow {
  readonly id: string;
  readonly mailboxId: string;
  readonly capability: string;
  readonly requester: { readonly id: string; readonly kind: EventMetadata['actor']['type'] };
  readonly draftId: string | null;
  readonly state: OperationProgress;
  readonly items: Summary;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

interface StoredRow extends Record<string, unknown> {
  readonly id: string;
  readonly mailbox_id: string;
  readonly capability: string;
  readonly principal_id: string;
  readonly actor_type: EventMetadata['actor']['type'];
  readonly draft_id: string | null;
  readonly state: OperationProgress;
  readonly done_items: number;
  readonly failed_items: number;
  readonly unknown_items: number;
  readonly created_at: Date;
  readonly updated_at: Date;
}

export interface OperationPage {
  /** The last row of the previous page. Ids made from keys have no order, so the time is compared first. */
  readonly before: { readonly createdAt: string; readonly id: string } | null;
  readonly limit: number;
}

/** One page, newest first. */
export async function listOperations(
  sql: Sql,
  visible: OperationsVisible,
  { state, mailboxId }: OperationFilter,
  { before, limit }: OperationPage,
): Promise<readonly OperationRow[]> {
  const rows = await sql.query<StoredRow>(
    `select id, mailbox_id, capability, principal_id, actor_type, draft_id, state, done_items, failed_items,
       unknown_items, created_at, updated_at
     from read.operation
     where org_id = $1
       and (principal_id = any($2) or (draft_id is not null and mailbox_id = any($3))
         or (draft_id is null and mailbox_id = any($4)) or ($11 and approver_role = any($12)))
       and ($5::text[] is null or mailbox_id = any($5)) and ($6::text is null or state = $6)
       and ($7::text is null or mailbox_id = $7) and ($8::text is null or (created_at, id) < ($8::timestamptz, $9))
     order by created_at desc, id desc limit $10`,
    [
      visible.orgId,
      visible.principalIds,
      visible.draftMailboxIds,
      visible.messageMailboxIds,
      visible.mailboxIds,
      state,
      mailboxId,
      before?.createdAt ?? null,
      before?.id ?? null,
      limit,
      visible.isPerson,
      visible.approverRoles,
    ],
  );
  return rows.map(rowOf);
}

const rowOf = (row: StoredRow): OperationRow => ({
  id: row.id,
  mailboxId: row.mailbox_id,
  capability: row.capability,
  requester: { id: row.principal_id, kind: row.actor_type },
  draftId: row.draft_id,
  state: row.state,
  items: { done: row.done_items, failed: row.failed_items, unknown: row.unknown_items },
  createdAt: row.created_at,
  updatedAt: row.updated_at,
});
