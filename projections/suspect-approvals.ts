/** Open approvals that something may have taken the ground from, for whoever looks at them again. */
import { withPrefix } from '../commands/values/ids.ts';
import type { Sql } from '../commands/ports/ports.ts';
import type { Position } from '../commands/values/position.ts';

export interface UndecidedApproval {
  readonly operationId: string;
  readonly mailboxId: string;
  readonly orgId: string | null;
}

export interface SuspectApproval extends UndecidedApproval {
  /** Of the newest event that may have taken a target away. */
  readonly suspectedAt: Position;
}

interface OpenRow {
  readonly [column: string]: unknown;
  readonly id: string;
  readonly mailbox_id: string;
  readonly org_id: string | null;
}

const OPEN = 'ended is null and not committing';

const undecidedApproval = ({ id, mailbox_id, org_id }: OpenRow): UndecidedApproval => ({
  operationId: withPrefix('opn', id),
  mailboxId: mailbox_id,
  orgId: org_id,
});

/** The last one of a page. */
export type SuspectedPlace = Pick<SuspectApproval, 'operationId' | 'suspectedAt'>;

/** Those with a target that an event after this place may have taken away, in the order of the events. */
export async function listSuspectApprovals(
  sql: Sql,
  { after, limit }: { readonly after: SuspectedPlace; readonly limit: number },
): Promise<readonly SuspectApproval[]> {
  const rows = await sql.query<OpenRow & { readonly suspected: string }>(
    `select id, mailbox_id, org_id, suspected from read.approval
     where ${OPEN} and suspected > 0 and (suspected, id) > ($1, $2) order by suspected, id limit $3`,
    [after.suspectedAt, withPrefix('chk', after.operationId), limit],
  );
  return rows.map((row) => ({ ...undecidedApproval(row), suspectedAt: BigInt(row.suspected) }));
}

/** Whose approvals: of these requesters, with a vote of these people, on these mailboxes; null = all there are. */
export type Whose =
  | { readonly requesters: readonly string[] }
  | { readonly voters: readonly string[] }
  | { readonly mailboxes: readonly string[] }
  | null;

/** By id, after the one named. */
export async function listUndecidedApprovals(
  sql: Sql,
  whose: Whose,
  { after, limit }: { readonly after: string; readonly limit: number },
): Promise<readonly UndecidedApproval[]> {
  const [condition, values] = conditionOf(whose);
  const rows = await sql.query<OpenRow>(
    `select id, mailbox_id, org_id from read.approval
     where ${OPEN} and ${condition} and id > $2 order by id limit $3`,
    [values, withPrefix('chk', after), limit],
  );
  return rows.map(undecidedApproval);
}

function conditionOf(whose: Whose): readonly [sql: string, values: readonly string[]] {
  if (whose === null) return ['$1::text[] is not null', []];
  if ('requesters' in whose) return ['requester_id = any($1::text[])', whose.requesters];
  if ('voters' in whose) return ['voters && $1::text[]', whose.voters];
  return ['mailbox_id = any($1::text[])', whose.mailboxes];
}
