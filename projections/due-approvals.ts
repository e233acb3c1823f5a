/** Approvals that background work looks at: their time has come, or their rights or targets may be gone. */
import { approvalIdOf, operationOfApproval } from '../commands/operations/operation.ts';
import type { Sql } from '../commands/ports/ports.ts';
import type { Position } from '../commands/values/position.ts';
import { OPEN } from './approvals.ts';

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

const EXPIRED = (now: string): string => `expires_at <= ${now}`;
const TO_COMMIT = (now: string): string =>
  `commit_at is not null and commit_at <= ${now} and expires_at > ${now}`;

const probeOf = (condition: string): string =>
  `exists (select from read.approval where ${OPEN} and ${condition})`;
/** They hold while `listOverdueApprovals`, `listDueCommits` and `listSuspectApprovals` find something at `$1`. */
export const OVERDUE_PROBE = probeOf(EXPIRED('$1'));
export const COMMIT_PROBE = probeOf(TO_COMMIT('$1'));
export const SUSPECT_PROBE = probeOf('suspected > 0');

/** Approvals that have expired without an event in their stream, the longest overdue first. */
export const listOverdueApprovals = (sql: Sql, query: DueApprovalsQuery): Promise<readonly OpenApproval[]> =>
  listOpen(sql, query, { condition: EXPIRED('$3'), order: 'expires_at' });

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
    condition: TO_COMMIT('$3'),
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
