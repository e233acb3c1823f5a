/** Remembers messages that disappeared from the mirror: another client may have moved them (`contract.md` 4, stale ids). */
import type { KnownMessage } from '../../commands/ports/mirror-versions.ts';
import type { MessagePlace, Sql } from '../../commands/ports/ports.ts';
import { messageIdOf } from './message-row.ts';

/** A message as it is removed from the mirror. */
export interface ExpungedMessage extends Record<string, unknown> {
  readonly uid: string;
  readonly size: string;
  readonly received_at: string;
  readonly provider_id: string | null;
  /** Null where the mirror had no text of it. */
  readonly envelope: string | null;
}

const NOTE = `
  insert into mirror.departed_message (mailbox_number, folder_number, uid_validity, uid, message_id, size, received_at,
    provider_id)
  select $1, $2, $3, * from unnest($4::bigint[], $5::text[], $6::bigint[], $7::bigint[], $8::bigint[])
  on conflict (mailbox_number, folder_number, uid_validity, uid) do nothing`;

/** How long a program may keep using an id, and how many rows per mailbox take about a megabyte. */
const KEPT_FOR = '30 days';
const MOST_KEPT = 10_000;

const FORGET = `
  delete from mirror.departed_message where mailbox_number = $1 and (departed_at < now() - interval '${KEPT_FOR}'
    or departed_at < (select departed_at from mirror.departed_message where mailbox_number = $1
      order by departed_at desc offset ${String(MOST_KEPT)} limit 1))`;

/** Records messages of one folder that are removed from its mirror, and deletes old records, in the caller's transaction. */
export async function rememberExpunged(
  sql: Sql,
  { mailboxNumber, folderNumber, uidValidity }: Omit<MessagePlace, 'uid'>,
  expunged: readonly ExpungedMessage[],
): Promise<void> {
  const named = expunged
    .map((message) => ({ ...message, messageId: storableId(message) }))
    .filter(({ messageId, provider_id }) => messageId !== null || provider_id !== null);
  if (named.length === 0) return;
  await sql.query(NOTE, [
    mailboxNumber,
    folderNumber,
    uidValidity,
    named.map(({ uid }) => uid),
    named.map(({ messageId }) => messageId),
    named.map(({ size }) => size),
    named.map(({ received_at }) => received_at),
    named.map(({ provider_id }) => provider_id),
  ]);
  await sql.query(FORGET, [mailboxNumber]);
}

/** Postgres text cannot contain NUL. */
function storableId({ envelope }: ExpungedMessage): string | null {
  const messageId = envelope === null ? null : messageIdOf(envelope);
  return messageId?.includes('\0') === true ? null : messageId;
}

/** Recently removed from the mirror, or still in it: marked for removal, or not yet reported as gone. */
const KNOWN = `
  select message_id, null as envelope, size, received_at from mirror.departed_message
  where mailbox_number = $1 and folder_number = $2 and uid_validity = $3 and uid = $4
  union all
  select null, t.envelope, m.size, m.received_at
  from mirror.folder f join mirror.message m using (mailbox_number, folder_number)
  join mirror.message_text t using (mailbox_number, folder_number, uid)
  where f.mailbox_number = $1 and f.folder_number = $2 and f.uid_validity = $3 and m.uid = $4
  limit 1`;

interface KnownRow extends Record<string, unknown> {
  readonly message_id: string | null;
  readonly envelope: string | null;
  readonly size: string;
  readonly received_at: string;
}

/** The message that is or was at the place; null when unknown, or when it has no Message-ID. Throws `store_unavailable`. */
export async function knownMessage(sql: Sql, place: MessagePlace): Promise<KnownMessage | null> {
  const { mailboxNumber, folderNumber, uidValidity, uid } = place;
  const [row] = await sql.query<KnownRow>(KNOWN, [mailboxNumber, folderNumber, uidValidity, uid]);
  if (row === undefined) return null;
  const rfcMessageId = row.message_id ?? messageIdOf(row.envelope ?? '{}');
  return rfcMessageId === null
    ? null
    : { rfcMessageId, size: Number(row.size), receivedAt: new Date(Number(row.received_at)) };
}
