/** Reading `read.approval`. Organisation, visibility and status are conditions of the query. */
import type { AnyEvent } from '../commands/event-catalogue.ts';
import type { OperationsVisible } from '../commands/approvals/operation-sight.ts';
import type { Sql } from '../commands/ports/ports.ts';
import type { PartInApproval } from '../commands/ports/trails.ts';
import type { ApprovalRecord } from '../commands/operations/approval-record.ts';
import type { ApprovalStatus } from '../commands/operations/approval-state.ts';
import { type ApprovalRow, recordOfRow } from './approval-rows.ts';
import { APPROVER_LANE, approvals, OPEN } from './approvals.ts';
import { checkpointKey, tableName } from './projection.ts';

/** As `statusAt` of the write side; `now` is SQL for the moment in question. */
export const statusAt = (now: string): string =>
  `case when ${OPEN} and expires_at <= ${now} then 'expired' else status end`;

/** Statuses that can hold before an end is recorded. */
const UNENDED: ReadonlySet<ApprovalStatus> = new Set([
  'awaiting_approval',
  'pending_commit',
  'committing',
  'commit_unknown',
]);

export const APPROVAL_PARTS = ['requester', 'approver'] as const;

export interface ApprovalFilter {
  /** Null = every status. */
  readonly statuses: readonly ApprovalStatus[] | null;
  readonly mailboxId: string | null;
  /** Requester: in the caller's name; approver: waits for the caller's vote. Null = all visible ones. */
  readonly role: (typeof APPROVAL_PARTS)[number] | null;
}

export interface ApprovalPage {
  /** The last row of the previous page. Ids made from keys have no order, so the time is compared first. */
  readonly before: { readonly createdAt: string; readonly id: string } | null;
  readonly limit: number;
  /** Statuses are those at this moment. */
  readonly now: Date;
}

export interface ListedApproval {
  readonly id: string;
  readonly createdAt: Date;
  readonly record: ApprovalRecord;
  readonly supersededBy: string | null;
}

const OF_REQUESTER = 'requester_id = any($2::text[])';
const VISIBLE = `(${OF_REQUESTER} or ($12 and approver_role = any($3::text[]))
  or mailbox_id = any(case when draft_id is null then $4::text[] else $5::text[] end))`;
const FOR_APPROVER = `approver_role = any($3::text[]) and not (exclude_owner and ${OF_REQUESTER})
  and not voters && $2::text[] and status = 'awaiting_approval' and expires_at > $9`;

/** One page, newest first: walks an index for each of a few lists, however many approvals there are. */
export async function listApprovals(
  sql: Sql,
  visible: OperationsVisible,
  { statuses, mailboxId, role }: ApprovalFilter,
  { before, limit, now }: ApprovalPage,
): Promise<readonly ListedApproval[]> {
  const lanes = lanesOf(visible, role, mailboxId);
  const fits = [
    'org_id = $1',
    VISIBLE,
    `($8::text[] is null or ${statusAt('$9::timestamptz')} = any($8::text[]))`,
    ...(role === 'requester' ? [OF_REQUESTER] : role === 'approver' ? [FOR_APPROVER] : []),
    '($11::text[] is null or mailbox_id = any($11::text[]))',
  ];
  const conditions = [
    // One condition that is opaque to the planner: it would guess that few rows fit, and sort the lane.
    `case when ${fits.join(' and ')} then true else false end`,
    '($6::timestamptz is null or (created_at, id) < ($6::timestamptz, $7))',
    ...(statuses?.every((status) => UNENDED.has(status)) === true ? ['ended_at is null'] : []),
  ];
  const newest = 'order by created_at desc, id desc limit $10';
  const found = lanes.map(
    ({ column }, index) =>
      `select newest.* from unnest($${String(13 + index)}::text[]) as lane(value) cross join lateral (
         select id, created_at from read.approval
         where ${column} = lane.value and ${conditions.join(' and ')} ${newest}) newest`,
  );
  const rows = await sql.query<
    ApprovalRow & { readonly superseded_by: string | null } & Readonly<Record<string, unknown>>
  >(
    `select a.*, ${supersededBy('a.id')} as superseded_by
     from (select * from (${found.join(' union ')}) each ${newest}) page join read.approval a using (id)
     order by a.created_at desc, a.id desc`,
    [
      visible.orgId,
      visible.principalIds,
      visible.approverRoles,
      visible.messageMailboxIds,
      visible.draftMailboxIds,
      before?.createdAt ?? null,
      before?.id ?? null,
      statuses,
      now,
      limit,
      boundsOf(visible, mailboxId),
      visible.isPerson,
      ...lanes.map(({ values }) => values),
    ],
  );
  return rows.map((row) => ({
    id: row.id,
    createdAt: row.created_at,
    record: recordOfRow(row),
    supersededBy: row.superseded_by,
  }));
}

interface Lane {
  readonly column: 'requester_id' | 'mailbox_id' | typeof APPROVER_LANE;
  readonly values: readonly string[];
}

/** Together they contain every requested row, each in the order of an index. */
function lanesOf(
  visible: OperationsVisible,
  role: ApprovalFilter['role'],
  mailboxId: string | null,
): readonly Lane[] {
  const { orgId, principalIds, draftMailboxIds, messageMailboxIds, approverRoles, isPerson } = visible;
  const bounds = boundsOf(visible, mailboxId);
  if (bounds !== null) return [{ column: 'mailbox_id', values: bounds }];
  const requested: Lane = { column: 'requester_id', values: principalIds };
  if (role === 'requester') return [requested];
  const decidable: Lane = { column: APPROVER_LANE, values: approverRoles.map((each) => `${orgId} ${each}`) };
  if (role === 'approver' && isPerson) return [decidable];
  const readable = [...new Set([...draftMailboxIds, ...messageMailboxIds])];
  return [requested, { column: 'mailbox_id', values: readable }, ...(isPerson ? [decidable] : [])];
}

function boundsOf({ mailboxIds }: OperationsVisible, mailboxId: string | null): readonly string[] | null {
  if (mailboxId === null) return mailboxIds;
  return mailboxIds?.includes(mailboxId) === false ? [] : [mailboxId];
}

const supersededBy = (id: string, until = ''): string =>
  `(select s.id from read.approval s where s.supersedes = ${id} ${until} order by s.created_at limit 1)`;

/** The approval that superseded another one, null without one. `asOf`: only if it existed then. */
export async function findSuccessor(sql: Sql, id: string, asOf: Date | null): Promise<string | null> {
  const [row] = await sql.query<{ id: string | null }>(
    `select ${supersededBy('$1', 'and ($2::timestamptz is null or s.created_at <= $2)')} as id`,
    [id, asOf],
  );
  return row?.id ?? null;
}

/** True for who voted on the approval, and for a signed-in person whose role may decide it. */
export async function mayDecide(
  sql: Sql,
  { orgId, isPerson, approverRoles }: OperationsVisible,
  principalId: string,
  approvalId: string,
): Promise<boolean> {
  const rows = await sql.query(
    `select from read.approval where id = $1 and org_id = $2
       and ($3 = any(voters) or ($4 and approver_role = any($5::text[])))`,
    [approvalId, orgId, principalId, isPerson, approverRoles],
  );
  return rows.length > 0;
}

/** Events without which an approval, or somebody who took part in it, is missing. */
const NAMING: readonly AnyEvent['type'][] = [
  'OperationSubmitted',
  'OperationDecided',
  'ApprovalRequested',
  'ApprovalVoteCast',
  'ApprovalCancelled',
];

/**
 * The approvals that one of these people and agents requested, voted on or cancelled, from the table of this version; null while
 * a parked event may name others.
 */
export async function listApprovalsOf(
  sql: Sql,
  principalIds: readonly string[],
): Promise<readonly PartInApproval[] | null> {
  const [row] = await sql.query<{ approvals: readonly PartInApproval[]; is_complete: boolean }>(
    `select coalesce((select json_agg(json_build_object('id', id, 'mailboxId', mailbox_id, 'draftId', draft_id))
         from ${tableName('approval', approvals)} where took_part && $1::text[]), '[]') as approvals,
       not exists (select from work.parked_event where projection = $2 and type = any($3::text[])) as is_complete`,
    [principalIds, checkpointKey(approvals), NAMING],
  );
  return row?.is_complete === true ? row.approvals : null;
}
