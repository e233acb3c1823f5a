/** The `MirrorVersions` port on the workers' leases and the mirror. */
import type { MirrorVersions, SyncStatus } from '../../commands/ports/mirror-versions.ts';
import type { Sql } from '../../commands/ports/ports.ts';
import { knownMessage } from '../mail-index/expunged-messages.ts';
import { knownCorrespondents } from '../mail-index/correspondents.ts';
import { firstContacts } from '../mail-index/first-contacts.ts';
import type { MailIndex } from '../mail-index/folder-mirror.ts';

const STATUS = `
  select asked.mailbox_id, current_at, last_event_at, coalesce(sum(indexed), 0)::float8 as indexed,
    coalesce(sum(greatest(total, indexed)), 0)::float8 as total
  from unnest($1::text[], $2::int[]) as asked (mailbox_id, mailbox_number)
  left join work.mailbox_lease as lease on lease.mailbox_id = asked.mailbox_id
  left join mirror.folder as folder on folder.mailbox_number = asked.mailbox_number
  group by asked.mailbox_id, current_at, last_event_at`;

interface Row extends Record<string, unknown> {
  readonly mailbox_id: string;
  readonly current_at: Date | null;
  readonly last_event_at: Date | null;
  readonly indexed: number;
  readonly total: number;
}

export const createMirrorVersions = (sql: Sql, index: Pick<MailIndex, 'erase'>): MirrorVersions => ({
  statusOf: async (mailboxes) => {
    if (mailboxes.length === 0) return new Map();
    const rows = await sql.query<Row>(STATUS, [
      mailboxes.map(({ id }) => id),
      mailboxes.map(({ number }) => number),
    ]);
    return new Map(
      rows.map(({ mailbox_id, current_at, last_event_at, indexed, total }): [string, SyncStatus] => [
        mailbox_id,
        { currentAt: current_at, lastEventAt: last_event_at, indexed, total },
      ]),
    );
  },
  knownMessage: (mailboxNumber, { folder, uidValidity, uid }) =>
    knownMessage(sql, { mailboxNumber, folderNumber: folder.number, uidValidity, uid }),
  firstContacts: (folders, messages) => firstContacts(sql, folders, messages),
  knownCorrespondents: (mail, addresses) => knownCorrespondents(sql, mail, addresses),
  erase: async ({ id, number }) => {
    await index.erase(number);
    await sql.query('delete from work.mail_echo where mailbox_id = $1', [id]);
    await sql.query('delete from work.report_search where mailbox_id = $1', [id]);
  },
});
