/** `vault.draft_copy`: the copies the gateway put into Drafts folders, and the drafts that need one. */
import type { DraftCopies, DraftCopy } from '../../commands/drafts/keep-draft-copy.ts';
import type { Sql } from '../../commands/ports/ports.ts';

export function createDraftCopies(sql: Sql): DraftCopies {
  return {
    of: async (draftId) => {
      const rows = await sql.query<Row>(
        'select * from vault.draft_copy where draft_id = $1 order by made_at',
        [draftId],
      );
      return rows.map(copyOf);
    },
    note: async (mailboxId, { draftId, messageId, version, folderNumber, uidValidity, fromUid }) => {
      await sql.query(
        `insert into vault.draft_copy
           (draft_id, message_id, mailbox_id, version, folder_number, uid_validity, from_uid)
         values ($1, $2, $3, $4, $5, $6, $7)`,
        [draftId, messageId, mailboxId, version, folderNumber, uidValidity, fromUid],
      );
    },
    place: async ({ draftId, messageId }, uid) => {
      await sql.query('update vault.draft_copy set uid = $3 where draft_id = $1 and message_id = $2', [
        draftId,
        messageId,
        uid,
      ]);
    },
    forget: async ({ draftId, messageId }) => {
      await sql.query('delete from vault.draft_copy where draft_id = $1 and message_id = $2', [
        draftId,
        messageId,
      ]);
    },
  };
}

interface Row extends Record<string, unknown> {
  readonly draft_id: string;
  readonly message_id: string;
  readonly version: number;
  readonly folder_number: number;
  readonly uid_validity: string;
  readonly from_uid: string;
  readonly uid: string | null;
}

const copyOf = (row: Row): DraftCopy => ({
  draftId: row.draft_id,
  messageId: row.message_id,
  version: row.version,
  folderNumber: row.folder_number,
  uidValidity: Number(row.uid_validity),
  fromUid: Number(row.from_uid),
  uid: row.uid === null ? null : Number(row.uid),
});

export interface CopyWork {
  readonly draftId: string;
  readonly mailboxId: string;
}

export interface CopyQuery {
  readonly quietSince: Date;
  readonly since: Date;
  /** Drafts that are left out. */
  readonly except: readonly string[];
  /** Mailboxes whose drafts are left out. */
  readonly exceptMailboxes: readonly string[];
  readonly limit: number;
}

const IS_OUT_OF_DATE = `case
  when d.status in ('open', 'in_review', 'send_failed') then
    not exists (select 1 from vault.draft_copy c where c.draft_id = d.id and c.version = d.version and c.uid is not null)
    or exists (select 1 from vault.draft_copy c where c.draft_id = d.id and c.version <> d.version)
  when d.status in ('sent', 'discarded') then exists (select 1 from vault.draft_copy c where c.draft_id = d.id)
  else false end`;

/** Holds while `listCopyWork` finds something at `$1` or soon, of drafts that changed in the last `forMs`. */
export const copyProbe = (forMs: number): string => `exists (select from read.draft d
  where d.updated_at between $1::timestamptz - interval '${String(forMs)} milliseconds' and $1 and ${IS_OUT_OF_DATE})`;

/**
 * Drafts whose copy is out of date: not made yet, of an earlier version, or left over from an ended draft. Only those
 * unchanged between `quietSince` and now, and changed after `since`: what could not be copied by then never is.
 */
export async function listCopyWork(
  sql: Sql,
  { quietSince, since, except, exceptMailboxes, limit }: CopyQuery,
): Promise<readonly CopyWork[]> {
  const rows = await sql.query<{ id: string; mailbox_id: string }>(
    `select d.id, d.mailbox_id from read.draft d
     where d.updated_at between $2 and $1 and d.id <> all($3::text[]) and d.mailbox_id <> all($5::text[])
       and ${IS_OUT_OF_DATE}
     order by d.updated_at limit $4`,
    [quietSince, since, except, limit, exceptMailboxes],
  );
  return rows.map(({ id, mailbox_id }) => ({ draftId: id, mailboxId: mailbox_id }));
}
