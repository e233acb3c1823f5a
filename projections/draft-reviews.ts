/** `read.draft_review`: drafts and the approvals they wait for, until each has followed the other's end. */
import {
  DraftDiscarded,
  DraftEdited,
  DraftReleased,
  DraftSendFailed,
  DraftSent,
} from '../commands/drafts/draft-events.ts';
import {
  ApprovalCancelled,
  ApprovalCommitFailed,
  ApprovalCommitted,
  ApprovalExpired,
  ApprovalInvalidated,
  ApprovalRejected,
  ApprovalSuperseded,
} from '../commands/operations/approval-events.ts';
import type { Sql } from '../commands/ports/ports.ts';
import { type ProjectedEvent, type Projection, splitStreamName } from './projection.ts';

export const draftReviews: Projection = {
  name: 'draft-reviews',
  version: 1,
  tables: ['draft_review'],
  // `check_is`: unasked until the operation exists, then open, then ended. Deleted when both have ended.
  create: (tableOf) => [
    `create table ${tableOf('draft_review')} (
       operation_id text primary key, draft_id text not null, org_id text,
       is_bound boolean not null, check_is text not null, updated_at timestamptz not null)`,
    // Also for `apply`, which finds rows by their draft.
    `create index on ${tableOf('draft_review')} (draft_id)`,
  ],
  indexes: (tableOf) => [
    `create index on ${tableOf('draft_review')} (updated_at) where is_bound = (check_is <> 'open')`,
  ],
  apply: async ({ events, sql, tableOf }) => {
    const table = tableOf('draft_review');
    // Sequential: they are few, and each may depend on the one before.
    for (const event of events) await apply(sql, table, event);
  },
};

/** The draft no longer waits for the approval. */
const UNBINDING: ReadonlySet<string> = new Set([
  DraftEdited.type,
  DraftDiscarded.type,
  DraftReleased.type,
  DraftSent.type,
  DraftSendFailed.type,
]);
/** After these events nothing runs, or all of it ran. */
export const ENDING: ReadonlySet<string> = new Set([
  ApprovalRejected.type,
  ApprovalCancelled.type,
  ApprovalExpired.type,
  ApprovalSuperseded.type,
  ApprovalInvalidated.type,
  ApprovalCommitted.type,
  ApprovalCommitFailed.type,
]);

async function apply(sql: Sql, table: string, { fact, streamName }: ProjectedEvent): Promise<void> {
  const { id } = splitStreamName(streamName);
  const { occurred_at: at, org_id: orgId } = fact.meta;
  const begin = (row: readonly unknown[], change: string): Promise<unknown> =>
    sql.query(
      `insert into ${table} (operation_id, draft_id, org_id, updated_at, is_bound, check_is)
       values ($1, $2, $3, $4, $5, $6) on conflict (operation_id) do update set ${change}, updated_at = $4`,
      row,
    );
  if (fact.type === 'DraftFrozen' && fact.data.approval_id !== undefined)
    await begin([fact.data.operation_id, id, orgId, at, true, 'unasked'], 'is_bound = true');
  else if (fact.type === 'ApprovalRequested' && fact.data.draft_id !== null)
    await begin([id, fact.data.draft_id, orgId, at, false, 'open'], "check_is = 'open'");
  else if (UNBINDING.has(fact.type)) {
    await sql.query(
      `with over as (delete from ${table} where draft_id = $1 and is_bound and check_is <> 'open')
       update ${table} set is_bound = false, updated_at = $2 where draft_id = $1 and is_bound and check_is = 'open'`,
      [id, at],
    );
  } else if (ENDING.has(fact.type)) {
    await sql.query(
      `with over as (delete from ${table} where operation_id = $1 and not is_bound)
       update ${table} set check_is = 'ended', updated_at = $2 where operation_id = $1 and is_bound`,
      [id, at],
    );
  }
}

interface LeftReview {
  readonly operationId: string;
  readonly draftId: string;
  readonly orgId: string | null;
}

const IS_LEFT = "is_bound = (check_is <> 'open')";

/** Holds while `listLeftReviews` finds something at any moment. */
export const LEFT_REVIEW_PROBE = `exists (select from read.draft_review where ${IS_LEFT})`;

/** Those where one has not followed the other, unchanged since then; the oldest first. */
export async function listLeftReviews(
  sql: Sql,
  {
    since,
    except,
    limit,
  }: { readonly since: Date; readonly except: readonly string[]; readonly limit: number },
): Promise<readonly LeftReview[]> {
  const rows = await sql.query<{ operation_id: string; draft_id: string; org_id: string | null }>(
    `select operation_id, draft_id, org_id from read.draft_review
     where ${IS_LEFT} and updated_at <= $1 and operation_id <> all($2::text[])
     order by updated_at limit $3`,
    [since, except, limit],
  );
  return rows.map(({ operation_id, draft_id, org_id }) => ({
    operationId: operation_id,
    draftId: draft_id,
    orgId: org_id,
  }));
}
