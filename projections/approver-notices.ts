/** What people were told of waiting approvals: `read.approver_told`, and each person's newest notice, `read.approver_notice`. */
import type { Told } from '../commands/approver-notices/notices-due.ts';
import type { UndecidedApproval } from '../commands/approver-notices/request-notices.ts';
import type { Sql } from '../commands/ports/ports.ts';
import { approvalIdOf } from '../commands/operations/operation.ts';
import type { ApprovalTerms } from '../commands/operations/approval-events.ts';
import { APPROVER_ROLES } from '../commands/values/policy-document.ts';
import { ENDING } from './draft-reviews.ts';
import { APPROVER_LANE } from './approvals.ts';
import { type ProjectedEvent, type Projection, splitStreamName, type Tables } from './projection.ts';

/** Longer than any approval waits for votes (`decision_ttl`). */
const TOLD_DAYS = 30;

export const approverNotices: Projection = {
  name: 'approver-notices',
  version: 2,
  tables: ['approver_notice', 'approver_told'],
  create: (tableOf) => [
    `create table ${tableOf('approver_notice')} (
       org_id text, user_id text, mail_id text not null, at timestamptz not null, primary key (org_id, user_id))`,
    // Deleted when the approval does not wait for votes any longer, or by age, because a notice may follow the end of its approval.
    `create table ${tableOf('approver_told')} (
       approval_id text, user_id text, at timestamptz not null, is_reminded boolean not null,
       primary key (approval_id, user_id))`,
  ],
  indexes: (tableOf) => [`create index on ${tableOf('approver_told')} (at)`],
  apply: async (batch) => {
    // Sequential: they are few, and each may depend on the one before.
    for (const event of batch.events) await apply(batch, event);
  },
};

async function apply({ sql, tableOf }: Tables, { fact, streamName }: ProjectedEvent): Promise<void> {
  const { id } = splitStreamName(streamName);
  const { occurred_at: at, org_id: orgId } = fact.meta;
  if (fact.type === 'SystemMailRequested' && fact.data.kind === 'approvals_waiting') {
    const { user_id: userId, approval_ids: approvalIds = [], reminded_ids: remindedIds = [] } = fact.data;
    await sql.query(
      `insert into ${tableOf('approver_notice')} (org_id, user_id, mail_id, at) values ($1, $2, $3, $4)
       on conflict (org_id, user_id) do update set mail_id = $3, at = $4`,
      [orgId, userId, id, at],
    );
    await sql.query(
      `insert into ${tableOf('approver_told')} as t (approval_id, user_id, at, is_reminded)
       select each, $2, $3, false from unnest($1::text[]) as each
       on conflict (approval_id, user_id) do update set is_reminded = t.is_reminded or t.approval_id = any($4::text[])`,
      [approvalIds, userId, at, remindedIds],
    );
    await sql.query(
      `delete from ${tableOf('approver_told')} where at < $1::timestamptz - make_interval(days => $2)`,
      [at, TOLD_DAYS],
    );
  } else if (fact.type === 'ApprovalGranted' || ENDING.has(fact.type)) {
    await sql.query(`delete from ${tableOf('approver_told')} where approval_id = $1`, [approvalIdOf(id)]);
  }
}

/** An organisation whose approvals wait for votes. */
export interface WaitingOrg {
  readonly orgId: string;
  /** Changes when another approval begins to wait. */
  readonly mark: string;
}

const WAITS = "status = 'awaiting_approval' and approver_role is not null and org_id is not null";

/** Holds while `listWaitingOrgs` finds something. */
export const WAITING_PROBE = `exists (select from read.approval where ${WAITS})`;

/** From the index alone, because it is asked every second. */
export async function listWaitingOrgs(sql: Sql): Promise<readonly WaitingOrg[]> {
  const rows = await sql.query<{ org_id: string; mark: string }>(
    `select org_id, count(*) || ' ' || max(created_at) as mark from read.approval
     where ${WAITS} group by org_id`,
  );
  return rows.map(({ org_id, mark }) => ({ orgId: org_id, mark }));
}

/** The newest are told first when more wait. */
const MOST_LISTED = 1_000;

interface ApprovalRow extends Record<string, unknown> {
  readonly id: string;
  readonly requester_id: string;
  readonly approver_role: ApprovalTerms['approver_role'];
  readonly exclude_owner: boolean;
  readonly voters: readonly string[];
  readonly created_at: Date;
  readonly expires_at: Date;
}

interface ToldRow extends Record<string, unknown> {
  readonly user_id: string;
  readonly mail_id: string;
  readonly last_at: Date;
  readonly approval_id: string | null;
  readonly at: Date | null;
  readonly is_reminded: boolean | null;
}

interface NoticeWork {
  readonly approvals: readonly UndecidedApproval[];
  /** By person. */
  readonly told: ReadonlyMap<string, Told>;
}

/** The approvals of an organisation that wait for votes, and what its people were told of them. */
export async function loadNoticeWork(sql: Sql, orgId: string, now: Date): Promise<NoticeWork> {
  const rows = await sql.query<ApprovalRow>(
    `select id, requester_id, approver_role, exclude_owner, voters, created_at, expires_at from read.approval
     where ${APPROVER_LANE} = any($1::text[]) and ended_at is null and status = 'awaiting_approval' and expires_at > $2
     order by created_at desc, id desc limit $3`,
    [APPROVER_ROLES.map((role) => `${orgId} ${role}`), now, MOST_LISTED],
  );
  const told = await sql.query<ToldRow>(
    `select n.user_id, n.mail_id, n.at as last_at, t.approval_id, t.at, t.is_reminded from read.approver_notice n
     left join read.approver_told t on t.user_id = n.user_id and t.approval_id = any($2::text[])
     where n.org_id = $1`,
    [orgId, rows.map(({ id }) => id)],
  );
  const byPerson = Map.groupBy(told, ({ user_id }) => user_id);
  return {
    approvals: rows.map((row) => ({
      id: row.id,
      requesterId: row.requester_id,
      terms: { approver_role: row.approver_role, exclude_owner: row.exclude_owner },
      votedIds: row.voters,
      requestedAt: row.created_at,
      expiresAt: row.expires_at,
    })),
    told: new Map([...byPerson].map(([userId, some]) => [userId, toldOf(some)])),
  };
}

function toldOf(rows: readonly ToldRow[]): Told {
  const [first] = rows;
  return {
    last: first === undefined ? null : { id: first.mail_id, at: first.last_at },
    approvals: new Map(
      rows.flatMap(({ approval_id: id, at, is_reminded: isReminded }) =>
        id === null || at === null ? [] : [[id, { at, isReminded: isReminded === true }] as const],
      ),
    ),
  };
}
