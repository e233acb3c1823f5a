/** Which mailboxes have new messages to search for delivery reports, from the log's feed as the mirror holds it, and how far they were searched. */
import { mayBeReport } from '../../commands/mail/delivery-report.ts';
import { isWorkedOn } from '../../commands/kernel/membership.ts';
import type { DirectoryState, MailboxEntry, MailboxState } from '../../commands/ports/directory.ts';
import type { MessagePlace, Ports, Sql } from '../../commands/ports/ports.ts';
import type { ReportSearch, ReportSearches } from '../../commands/sending/search-reports.ts';
import { listSentWith } from '../../projections/sent-messages.ts';
import { reportSignsInEnvelope } from '../mail-index/message-row.ts';

/** A mailbox that sent nothing has nothing to search. */
const DUE = `
  select asked.mailbox_id, coalesce(search.position, 0) as after, newest.position as up_to
  from unnest($1::text[], $2::int[]) as asked (mailbox_id, mailbox_number)
  join lateral (
    select max(feed_position) as position from mirror.folder where mailbox_number = asked.mailbox_number) newest on true
  left join work.report_search search on search.mailbox_id = asked.mailbox_id
  where newest.position > coalesce(search.position, 0)
    and exists (select from read.sent_message where mailbox_id = asked.mailbox_id)
  limit $3`;

interface DueRow extends Record<string, unknown> {
  readonly mailbox_id: string;
  readonly after: string;
  readonly up_to: string;
}

/** True when its messages can be read. */
export const isConnected = (
  directory: Pick<DirectoryState, 'organisations'>,
  mailbox: Pick<MailboxEntry, 'orgId' | 'state'> | undefined,
): boolean => mailbox !== undefined && CONNECTED.has(mailbox.state) && isWorkedOn(directory, mailbox);

const CONNECTED: ReadonlySet<MailboxState> = new Set(['connected', 'syncing', 'degraded']);

/** Of the mailboxes that are connected, without `except`. */
export async function listReportSearches(
  { sql, directory }: Pick<Ports, 'sql' | 'directory'>,
  except: readonly string[],
  limit: number,
): Promise<readonly ReportSearch[]> {
  const excluded = new Set(except);
  const mailboxes = [...directory.state.mailboxes.values()].filter(
    (mailbox) => isConnected(directory.state, mailbox) && !excluded.has(mailbox.id),
  );
  if (mailboxes.length === 0) return [];
  const rows = await sql.query<DueRow>(DUE, [
    mailboxes.map(({ id }) => id),
    mailboxes.map(({ number }) => number),
    limit,
  ]);
  return rows.map(({ mailbox_id, after, up_to }) => ({
    mailboxId: mailbox_id,
    after: BigInt(after),
    upTo: BigInt(up_to),
  }));
}

/** What the scan of a mirror that is built anew has not reached is unknown: it has to be read. What it has lost is gone. */
const ENVELOPES = `
  select folder_number, uid_validity, uid, t.envelope
  from unnest($2::int[], $3::bigint[], $4::bigint[]) as asked (folder_number, uid_validity, uid)
  join mirror.folder f using (folder_number, uid_validity)
  left join mirror.message_text t using (mailbox_number, folder_number, uid)
  where mailbox_number = $1 and (t.envelope is not null or uid < f.indexed_from)`;

interface EnvelopeRow extends Record<string, unknown> {
  readonly folder_number: number;
  readonly uid_validity: string;
  readonly uid: string;
  readonly envelope: string | null;
}

export const createReportSearches = (sql: Sql): ReportSearches => ({
  suspects: async (mailboxNumber, places) => {
    const rows = await sql.query<EnvelopeRow>(ENVELOPES, [
      mailboxNumber,
      places.map(({ folderNumber }) => folderNumber),
      places.map(({ uidValidity }) => uidValidity),
      places.map(({ uid }) => uid),
    ]);
    return rows
      .filter(({ envelope }) => envelope === null || mayBeReport(reportSignsInEnvelope(envelope)))
      .map(({ folder_number, uid_validity, uid }): MessagePlace => ({
        mailboxNumber,
        folderNumber: folder_number,
        uidValidity: Number(uid_validity),
        uid: Number(uid),
      }));
  },
  sentWith: (mailboxId, messageIds) => listSentWith(sql, mailboxId, messageIds),
  note: async (mailboxId, upTo) => {
    await sql.query(
      `insert into work.report_search (mailbox_id, position) values ($1, $2)
       on conflict (mailbox_id) do update set position = greatest(report_search.position, excluded.position)`,
      [mailboxId, String(upTo)],
    );
  },
});
