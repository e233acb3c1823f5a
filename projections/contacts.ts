/**
 * `read.contact`: the addresses that accepted a mail from the gateway, by mailbox. Stored with the drafts, which have the
 * recipients.
 */
import { z } from 'zod';
import type { DraftState } from '../commands/drafts/draft.ts';
import { wireAddress } from '../commands/drafts/mail-address.ts';
import type { Sql } from '../commands/ports/ports.ts';
import type { Batch, Open } from './projection.ts';

const Recipients = z.object({ to: z.array(z.string()) });

/** Records the recipients of these drafts, all of them sent. Records nothing for a mailbox whose key was erased. */
export async function keepContacts(
  { sql, tableOf, open }: Omit<Batch, 'events'>,
  sent: readonly DraftState[],
): Promise<void> {
  const rows = (await Promise.all(sent.map((state) => contactsOf(open, state)))).flat();
  if (rows.length === 0) return;
  await sql.query(
    `insert into ${tableOf('contact')} (mailbox_id, address)
     select distinct * from unnest($1::text[], $2::text[]) on conflict do nothing`,
    [rows.map(({ mailboxId }) => mailboxId), rows.map(({ address }) => address)],
  );
}

interface Contact {
  readonly mailboxId: string;
  readonly address: string;
}

/** A recipient refused at the envelope got nothing. */
async function contactsOf(open: Open, { mailboxId, send, outcome }: DraftState): Promise<readonly Contact[]> {
  const text = send && (await open(send.frozen.smtp_envelope));
  if (mailboxId === null || text === null) return [];
  const refused = await Promise.all((outcome?.rejected ?? []).map(({ address }) => open(address)));
  return Recipients.parse(JSON.parse(text))
    .to.filter((address) => !refused.includes(address))
    .map((address) => ({ mailboxId, address: keyOf(address) }));
}

/** The local part as written: two that differ only in case may be two people (RFC 5321 2.4). */
const keyOf = (address: string): string => wireAddress(address) ?? address;

export async function forgetContacts({ sql, tableOf, events }: Batch): Promise<void> {
  const erased = events.flatMap(({ fact, streamName }) =>
    fact.type === 'MailboxErased' ? [streamName.slice(streamName.indexOf('-') + 1)] : [],
  );
  if (erased.length === 0) return;
  await sql.query(`delete from ${tableOf('contact')} where mailbox_id = any($1::text[])`, [erased]);
}

const WRITTEN_TO = {
  name: 'contacts_written_to',
  text: 'select address from read.contact where mailbox_id = $1 and address = any($2::text[])',
};

/** Those of the addresses that accepted a mail from the mailbox. */
export async function listWrittenTo(
  sql: Sql,
  mailboxId: string,
  addresses: readonly string[],
): Promise<ReadonlySet<string>> {
  if (addresses.length === 0) return new Set();
  const rows = await sql.query<{ address: string }>(WRITTEN_TO, [mailboxId, addresses.map(keyOf)]);
  const known = new Set(rows.map(({ address }) => address));
  return new Set(addresses.filter((address) => known.has(keyOf(address))));
}
