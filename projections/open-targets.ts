/** Which open checks are about messages, for whoever finds that these are gone. */
import { withPrefix } from '../commands/kernel/ids.ts';
import type { Sql } from '../commands/kernel/ports.ts';

export interface CheckOfMessages {
  readonly operationId: string;
  readonly orgId: string | null;
}

const OPEN = `ended is null and not committing and draft_id is null`;

/** Mailboxes with such checks. */
export async function listMailboxesWithChecks(sql: Sql): Promise<readonly string[]> {
  const rows = await sql.query<{ mailbox_id: string }>(
    `select distinct mailbox_id from read.approval where ${OPEN}`,
  );
  return rows.map(({ mailbox_id }) => mailbox_id);
}

/** Those of a mailbox, oldest first. */
export async function listChecksOfMessages(sql: Sql, mailboxId: string): Promise<readonly CheckOfMessages[]> {
  const rows = await sql.query<{ id: string; org_id: string | null }>(
    `select id, org_id from read.approval where ${OPEN} and mailbox_id = $1 order by created_at, id`,
    [mailboxId],
  );
  return rows.map(({ id, org_id }) => ({ operationId: withPrefix('opn', id), orgId: org_id }));
}
