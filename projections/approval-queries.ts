/** Reading `read.approval`. Organisation, visibility and status are conditions of the query. */
import type { OperationsVisible } from '../commands/approvals/operation-sight.ts';
import type { Sql } from '../commands/ports/ports.ts';
import type { OperationState } from '../commands/operations/operation.ts';
import type { ApprovalStatus } from '../commands/operations/approval-state.ts';
import { APPROVER_LANE } from './approvals.ts';

/** As `approvalStatus` has it; `now` is SQL for the moment that is meant. */
export const statusAt = (now: string): string =>
  `case when ended is not null then ended
     when committing then case when has_unknown then 'commit_unknown' else 'committing' end
     when expires_at <= ${now} then 'expired'
     when granted then 'pending_commit' else 'awaiting_approval' end`;

/** Statuses that can hold before an end is written down. */
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
  /** Requester: asked for in his name; approver: waits for his vote. Null = all he may see. */
  readonly role: (typeof APPROVAL_PARTS)[number] | null;
}

export interface ApprovalPage {
  /** The last row of the page before. Ids made from keys have no order, so the time comes first. */
  readonly before: { readonly createdAt: string; readonly id: string } | null;
  readonly limit: number;
  /** Statuses are those of this moment. */
  readonly now: Date;
}

export interface ListedApproval {
  readonly id: string;
  readonly createdAt: Date;
  /** As its stream tells it, without targets and steps. */
  readonly state: OperationState;
  readonly supersededBy: string | null;
}

const OF_REQUESTER = 'requester_id = any($2::text[])';
const VISIBLE = `(${OF_REQUESTER} or ($12 and approver_role = any($3::text[]))
  or mailbox_id = any(case when draft_id is null then $4::text[] else $5::text[] end))`;
const FOR_APPROVER = `approver_role = any($3::text[]) and not (exclude_owner and ${OF_REQUESTER})
  and not voters && $2::text[] and ended is null and not granted and not committing and expires_at > $9`;

/** One page, newest first. However many approvals there are, an index is walked for each of a few lists. */
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
    // As one condition that says nothing to the planner: it would guess that few rows fit, and sort all of a lane.
    `case when ${fits.join(' and ')} then true else false end`,
    '($6::timestamptz is null or (created_at, id) < ($6::timestamptz, $7))',
    ...(statuses?.every((status) => UNENDED.has(status)) === true ? ['ended is null'] : []),
  ];
  const newest = 'order by created_at desc, id desc limit $10';
  const found = lanes.map(
    ({ column }, index) =>
      `select newest.* from unnest($${String(13 + index)}::text[]) as lane(value) cross join lateral (
         select id, created_at from read.approval
         where ${column} = lane.value and ${conditions.join(' and ')} ${newest}) newest`,
  );
  const rows = await sql.query<{
    id: string;
    created_at: Date;
    state: OperationState;
    superseded_by: string | null;
  }>(
    `select a.id, a.created_at, a.state, ${supersededBy('a.id')} as superseded_by
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
  return rows.map(({ id, created_at, state, superseded_by }) => ({
    id,
    createdAt: created_at,
    state,
    supersededBy: superseded_by,
  }));
}

interface Lane {
  readonly column: 'requester_id' | 'mailbox_id' | typeof APPROVER_LANE;
  readonly values: readonly string[];
}

/** Together they hold every row that is asked for, each in the order of an index. */
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

/** The approval that took the place of another one, null without one. `asOf`: only if it was there then. */
export async function findSuccessor(sql: Sql, id: string, asOf: Date | null): Promise<string | null> {
  const [row] = await sql.query<{ id: string | null }>(
    `select ${supersededBy('$1', 'and ($2::timestamptz is null or s.created_at <= $2)')} as id`,
    [id, asOf],
  );
  return row?.id ?? null;
}
