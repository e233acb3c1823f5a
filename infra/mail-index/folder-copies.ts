/** What the copies of folders were at their last look, of many mailboxes at once. */
import type { Sql } from '../../commands/kernel/ports.ts';
import type { FolderCopy } from '../../commands/operations/approvals/lost-targets.ts';

/** By mailbox number, then by folder number ascending; a mailbox without a copy is not in it. */
export async function folderCopies(
  sql: Sql,
  mailboxNumbers: readonly number[],
): Promise<ReadonlyMap<number, ReadonlyMap<number, FolderCopy>>> {
  const rows = await sql.query<{
    mailbox_number: number;
    folder_number: number;
    uid_validity: string;
    checked_at: Date;
  }>(
    `select mailbox_number, folder_number, uid_validity, checked_at from mirror.folder
     where mailbox_number = any($1::int[]) order by mailbox_number, folder_number`,
    [mailboxNumbers],
  );
  const byMailbox = Map.groupBy(rows, ({ mailbox_number }) => mailbox_number);
  return new Map(
    [...byMailbox].map(([number, folders]) => [
      number,
      new Map(
        folders.map(({ folder_number, uid_validity, checked_at }) => [
          folder_number,
          { uidValidity: Number(uid_validity), checkedAt: checked_at },
        ]),
      ),
    ]),
  );
}
