/** Reading `read.approval`. Organisation, visibility and status are conditions of the query. */
import type { OperationsVisible } from '../commands/approvals/operation-sight.ts';
import { approvalIdOf, operationOfApproval } from '../commands/operations/operation.ts';
import type { Position } from '../commands/values/position.ts';
import type { Sql } from '../commands/ports/ports.ts';
import type { ApprovalRecord } from '../commands/operations/approval-record.ts';
import type { ApprovalStatus } from '../commands/operations/approval-state.ts';
import { type ApprovalRow, recordOfRow } from './approval-rows.ts';
import { APPROVER_LANE, OPEN } from './approvals.ts';

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

interface OpenApproval extends UndecidedApproval {
  /** Null for an approval that sends nothing. */
  readonly draftId: string | null;
}

/** A query for open approvals. */
interface DueApprovalsQuery {
  readonly now: Date;
  readonly limit: number;
  /** Operations to leave out. */
  readonly except: readonly string[];
}

/** Approvals that have expired without an event in their stream, the longest overdue first. */
export const listOverdueApprovals = (sql: Sql, query: DueApprovalsQuery): Promise<readonly OpenApproval[]> =>
  listOpen(sql, query, { condition: 'expires_at <= $3', order: 'expires_at' });

interface DueCommitsQuery extends DueApprovalsQuery {
  /** At most this many per mailbox, minus one for each time it is in `busy`. */
  readonly ofOneMailbox: number;
  readonly busy: readonly string[];
}

/** Approvals the gateway commits automatically and whose time has come, the longest due first. */
export const listDueCommits = (
  sql: Sql,
  { ofOneMailbox, busy, ...query }: DueCommitsQuery,
): Promise<readonly OpenApproval[]> =>
  listOpen(sql, query, {
    condition: 'commit_at is not null and commit_at <= $3 and expires_at > $3',
    order: 'commit_at',
    fits: `place <= $4 - (select count(*) from unnest($5::text[]) as b(mailbox_id) where b.mailbox_id = due.mailbox_id)`,
    parameters: [ofOneMailbox, busy],
  });

interface Wanted {
  /** `$3` is the moment; `$4` onwards are `parameters`. */
  readonly condition: string;
  readonly order: string;
  /** A condition on `place`, the approval's number within its mailbox. Absent = all fit. */
  readonly fits?: string;
  readonly parameters?: readonly unknown[];
}

async function listOpen(
  sql: Sql,
  { now, limit, except }: DueApprovalsQuery,
  { condition, order, fits = 'true', parameters = [] }: Wanted,
): Promise<readonly OpenApproval[]> {
  const rows = await sql.query<OpenRow & { readonly draft_id: string | null }>(
    `select id, mailbox_id, org_id, draft_id from (
       select *, row_number() over (partition by mailbox_id order by ${order}, id) as place from read.approval
       where ${OPEN} and ${condition} and id <> all($1::text[])
     ) due
     where ${fits} order by ${order}, id limit $2`,
    [except.map(approvalIdOf), limit, now, ...parameters],
  );
  return rows.map((row) => ({ ...undecidedApproval(row), draftId: row.draft_id }));
}

export interface UndecidedApproval {
  readonly operationId: string;
  readonly mailboxId: string;
  readonly orgId: string | null;
}

interface SuspectApproval extends UndecidedApproval {
  /** Position of the newest event that may have removed a target. */
  readonly suspectedAt: Position;
}

interface OpenRow {
  readonly [column: string]: unknown;
  readonly id: string;
  readonly mailbox_id: string;
  readonly org_id: string | null;
}

const undecidedApproval = ({ id, mailbox_id, org_id }: OpenRow): UndecidedApproval => ({
  operationId: operationOfApproval(id),
  mailboxId: mailbox_id,
  orgId: org_id,
});

/** The last one of a page. */
export type SuspectedPlace = Pick<SuspectApproval, 'operationId' | 'suspectedAt'>;

/** Those with a target that an event after this place may have removed, in the order of the events. */
export async function listSuspectApprovals(
  sql: Sql,
  { after, limit }: { readonly after: SuspectedPlace; readonly limit: number },
): Promise<readonly SuspectApproval[]> {
  const rows = await sql.query<OpenRow & { readonly suspected: string }>(
    `select id, mailbox_id, org_id, suspected from read.approval
     where ${OPEN} and suspected > 0 and (suspected, id) > ($1, $2) order by suspected, id limit $3`,
    [after.suspectedAt, approvalIdOf(after.operationId), limit],
  );
  return rows.map((row) => ({ ...undecidedApproval(row), suspectedAt: BigInt(row.suspected) }));
}

/** Filters approvals by requester, by a voter, or by mailbox; null = all. */
export type Whose =
  | { readonly requesters: readonly string[] }
  | { readonly voters: readonly string[] }
  | { readonly mailboxes: readonly string[] }
  | null;

/** By id, after the given one. */
export async function listUndecidedApprovals(
  sql: Sql,
  whose: Whose,
  { after, limit }: { readonly after: string; readonly limit: number },
): Promise<readonly UndecidedApproval[]> {
  const [condition, values] = conditionOf(whose);
  const rows = await sql.query<OpenRow>(
    `select id, mailbox_id, org_id from read.approval
     where ${OPEN} and ${condition} and id > $2 order by id limit $3`,
    [values, approvalIdOf(after), limit],
  );
  return rows.map(undecidedApproval);
}

function conditionOf(whose: Whose): readonly [sql: string, values: readonly string[]] {
  if (whose === null) return ['$1::text[] is not null', []];
  if ('requesters' in whose) return ['requester_id = any($1::text[])', whose.requesters];
  if ('voters' in whose) return ['voters && $1::text[]', whose.voters];
  return ['mailbox_id = any($1::text[])', whose.mailboxes];
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
