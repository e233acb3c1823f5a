/** Approvals that something is to be done about: whose time has come. */
import { withPrefix } from '../commands/values/ids.ts';
import type { Sql } from '../commands/ports/ports.ts';

export interface OpenApproval {
  readonly operationId: string;
  readonly mailboxId: string;
  readonly orgId: string | null;
  /** Null for an approval that sends nothing. */
  readonly draftId: string | null;
}

/** What is asked of the open approvals. */
export interface DueApprovalsQuery {
  readonly now: Date;
  readonly limit: number;
  /** Operations that are left out. */
  readonly except: readonly string[];
}

/** Approvals whose time is over and whose stream does not say so yet, the longest over first. */
export const listOverdueApprovals = (sql: Sql, query: DueApprovalsQuery): Promise<readonly OpenApproval[]> =>
  listOpen(sql, query, { condition: 'expires_at <= $3', order: 'expires_at' });

export interface DueCommitsQuery extends DueApprovalsQuery {
  /** So many of one mailbox at most, and fewer by each time it stands in `busy`. */
  readonly ofOneMailbox: number;
  readonly busy: readonly string[];
}

/** Approvals the gateway commits by itself, whose moment has come, the longest due first. */
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
  /** `$3` is the moment; `$4` and on are `parameters`. */
  readonly condition: string;
  readonly order: string;
  /** Of `place`, the approval's number among those of its mailbox. Absent = all fit. */
  readonly fits?: string;
  readonly parameters?: readonly unknown[];
}

async function listOpen(
  sql: Sql,
  { now, limit, except }: DueApprovalsQuery,
  { condition, order, fits = 'true', parameters = [] }: Wanted,
): Promise<readonly OpenApproval[]> {
  const rows = await sql.query<{
    id: string;
    mailbox_id: string;
    org_id: string | null;
    draft_id: string | null;
  }>(
    `select id, mailbox_id, org_id, draft_id from (
       select *, row_number() over (partition by mailbox_id order by ${order}, id) as place from read.approval
       where ended is null and not committing and ${condition} and id <> all($1::text[])
     ) due
     where ${fits} order by ${order}, id limit $2`,
    [except.map((id) => withPrefix('chk', id)), limit, now, ...parameters],
  );
  return rows.map(({ id, mailbox_id, org_id, draft_id }) => ({
    operationId: withPrefix('opn', id),
    mailboxId: mailbox_id,
    orgId: org_id,
    draftId: draft_id,
  }));
}
