/**
 * `read.sent_message`: the draft of each Message-ID that a mailbox sent, by which a delivery report is tied to it. Stored with
 * the drafts.
 */
import { createHash } from 'node:crypto';
import type { DraftState } from '../commands/drafts/draft.ts';
import type { Sql } from '../commands/ports/ports.ts';
import { messageIdsOf } from '../commands/sending/sent-copy.ts';
import { bareMessageId } from '../commands/mail/matches.ts';
import type { Batch } from './projection.ts';

/** Of one length, whatever a server made of the Message-ID. */
const hashOf = (messageId: string): string =>
  createHash('sha256').update(bareMessageId(messageId)).digest('hex');

/** Records the Message-IDs of these drafts. Records nothing for a mailbox whose key was erased. */
export async function keepSentMessages(
  { sql, tableOf, open }: Omit<Batch, 'events'>,
  drafts: readonly { readonly id: string; readonly state: DraftState }[],
): Promise<void> {
  const found = await Promise.all(
    drafts.map(async ({ id, state }) => {
      const hashes = (await messageIdsOf({ open }, state)).map(hashOf);
      return hashes.map((hash) => ({ id, mailboxId: state.mailboxId, hash }));
    }),
  );
  const rows = found.flat();
  if (rows.length === 0) return;
  await sql.query(
    `insert into ${tableOf('sent_message')} (mailbox_id, message_hash, draft_id)
     select * from unnest($1::text[], $2::text[], $3::text[]) on conflict do nothing`,
    [rows.map(({ mailboxId }) => mailboxId), rows.map(({ hash }) => hash), rows.map(({ id }) => id)],
  );
}

export async function forgetSentMessages({ sql, tableOf, events }: Batch): Promise<void> {
  const erased = events.flatMap(({ fact, streamName }) =>
    fact.type === 'MailboxErased' ? [streamName.slice(streamName.indexOf('-') + 1)] : [],
  );
  if (erased.length === 0) return;
  await sql.query(`delete from ${tableOf('sent_message')} where mailbox_id = any($1::text[])`, [erased]);
}

/** The drafts that this mailbox sent with these Message-IDs, in their order. */
export async function listSentWith(
  sql: Sql,
  mailboxId: string,
  messageIds: readonly string[],
): Promise<readonly string[]> {
  const rows = await sql.query<{ draft_id: string }>(
    `select draft_id from unnest($2::text[]) with ordinality as asked (message_hash, at)
     join read.sent_message using (message_hash) where mailbox_id = $1 order by at`,
    [mailboxId, messageIds.map(hashOf)],
  );
  return [...new Set(rows.map(({ draft_id }) => draft_id))];
}
