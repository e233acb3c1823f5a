/** Updates the mirror of a folder, and the threads of its mailbox, in the caller's transaction. */
import type { Sql } from '../../commands/ports/ports.ts';
import { type ExpungedMessage, rememberExpunged } from './expunged-messages.ts';
import type { FolderKey, FolderUpdate } from './folder-mirror.ts';
import { namesInEnvelope, storedFlags, type StoredMessage, storedMessage } from './message-row.ts';
import { type JoinedThread, joinThreads, type ThreadName, threadNames, threadsNamed } from './threads.ts';

const TABLES = ['mirror.message', 'mirror.message_text'] as const;

const ADD_MESSAGES = `
  insert into mirror.message (mailbox_number, folder_number, uid, received_at, sent_at, size, thread_key, message_key,
    seen, flagged, answered, draft, deleted, has_attachment, keywords, provider_id)
  select $1, $2, uid, received_at, sent_at, size, thread_key, message_key,
    seen, flagged, answered, draft, deleted, has_attachment, string_to_array(keywords, ' '), provider_id
  from unnest($3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[], $9::boolean[],
    $10::boolean[], $11::boolean[], $12::boolean[], $13::boolean[], $14::boolean[], $15::text[],
    $16::bigint[])
    as added (uid, received_at, sent_at, size, thread_key, message_key, seen, flagged, answered, draft, deleted,
      has_attachment, keywords, provider_id)
  on conflict (mailbox_number, folder_number, uid) do update set seen = excluded.seen, flagged = excluded.flagged,
    answered = excluded.answered, draft = excluded.draft, deleted = excluded.deleted, keywords = excluded.keywords,
    provider_id = excluded.provider_id
  returning xmax = 0 as inserted`;

/** Within one UIDVALIDITY a UID always names the same message (RFC 3501 2.3.1.1): its text is already stored. */
const ADD_TEXTS = `
  insert into mirror.message_text (mailbox_number, folder_number, uid, words, envelope)
  select $1, $2, * from unnest($3::bigint[], $4::text[], $5::text[])
  on conflict (mailbox_number, folder_number, uid) do nothing`;

const CHANGE_FLAGS = `
  update mirror.message as m set seen = now.seen, flagged = now.flagged, answered = now.answered, draft = now.draft,
    deleted = now.deleted, keywords = string_to_array(now.keywords, ' ')
  from unnest($3::bigint[], $4::boolean[], $5::boolean[], $6::boolean[], $7::boolean[], $8::boolean[], $9::text[])
    as now (uid, seen, flagged, answered, draft, deleted, keywords)
  where m.mailbox_number = $1 and m.folder_number = $2 and m.uid = now.uid`;

const FOLDER = `
  insert into mirror.folder as known (mailbox_number, folder_number, uid_validity, uid_next, indexed_from,
    highest_modseq, total, indexed, checked_at, feed_position, trusted, named_from)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $12::bigint, 1)
  on conflict (mailbox_number, folder_number) do update set uid_validity = excluded.uid_validity,
    uid_next = excluded.uid_next, indexed_from = excluded.indexed_from, highest_modseq = excluded.highest_modseq,
    total = excluded.total,
    indexed = excluded.indexed + case when $11::boolean then 0 else known.indexed end,
    checked_at = excluded.checked_at, feed_position = excluded.feed_position, trusted = excluded.trusted,
    named_from = case when $11::boolean then 1 else known.named_from end,
    version = case when $13::boolean then nextval('mirror.folder_version') else known.version end`;

/** Applies the whole update; the caller has checked the fence. */
export async function writeFolder(
  sql: Sql,
  update: FolderUpdate,
  threadId: (root: string) => string,
): Promise<void> {
  const { reset, added, flags, removedUids, mirror } = update;
  if (reset) await removeAll(sql, update);
  const removed = await remove(sql, update);
  const messages = added.map((message) => storedMessage(message, threadId));
  const inserted = await add(sql, update, messages);
  await ingestNames(
    sql,
    update.mailboxNumber,
    messages.map(({ threadNames }) => threadNames),
  );
  if (flags.length > 0) await changeFlags(sql, update, flags);
  await sql.query(FOLDER, [
    update.mailboxNumber,
    update.folderNumber,
    mirror.uidValidity,
    mirror.uidNext,
    mirror.indexedFrom,
    mirror.highestModseq,
    mirror.total,
    inserted - removed,
    mirror.checkedAt,
    mirror.feedPosition,
    reset,
    mirror.invalidations,
    reset || added.length + flags.length + removedUids.length > 0,
  ]);
}

/** Deletes every message of a folder's mirror. */
export async function removeAll(sql: Sql, { mailboxNumber, folderNumber }: FolderKey): Promise<void> {
  for (const table of TABLES) {
    await sql.query(`delete from ${table} where mailbox_number = $1 and folder_number = $2`, [
      mailboxNumber,
      folderNumber,
    ]);
  }
}

async function remove(sql: Sql, update: FolderUpdate): Promise<number> {
  const { mailboxNumber, folderNumber, removedUids, mirror } = update;
  if (removedUids.length === 0) return 0;
  const removed = await sql.query<ExpungedMessage>(
    `with gone as (delete from mirror.message where mailbox_number = $1 and folder_number = $2 and uid = any($3::bigint[])
       returning uid, size, received_at, provider_id),
     texts as (delete from mirror.message_text where mailbox_number = $1 and folder_number = $2
       and uid = any($3::bigint[]) returning uid, envelope)
     select uid, size, received_at, provider_id, envelope from gone left join texts using (uid)`,
    [mailboxNumber, folderNumber, removedUids],
  );
  await rememberExpunged(sql, { mailboxNumber, folderNumber, uidValidity: mirror.uidValidity }, removed);
  return removed.length;
}

async function add(
  sql: Sql,
  { mailboxNumber, folderNumber }: FolderKey,
  messages: readonly StoredMessage[],
): Promise<number> {
  if (messages.length === 0) return 0;
  const column = <T>(read: (message: StoredMessage) => T): readonly T[] => messages.map(read);
  const uids = column(({ uid }) => uid);
  const rows = await sql.query<{ inserted: boolean }>(ADD_MESSAGES, [
    mailboxNumber,
    folderNumber,
    uids,
    column(({ receivedAt }) => receivedAt),
    column(({ sentAt }) => sentAt),
    column(({ size }) => size),
    column(({ threadKey }) => threadKey),
    column(({ messageKey }) => messageKey),
    column(({ flags }) => flags.seen),
    column(({ flags }) => flags.flagged),
    column(({ flags }) => flags.answered),
    column(({ flags }) => flags.draft),
    column(({ flags }) => flags.deleted),
    column(({ hasAttachment }) => hasAttachment),
    column(({ flags }) => flags.keywords),
    column(({ providerId }) => providerId),
  ]);
  await sql.query(ADD_TEXTS, [
    mailboxNumber,
    folderNumber,
    uids,
    column(({ words }) => words),
    column(({ envelope }) => envelope),
  ]);
  return rows.filter(({ inserted }) => inserted).length;
}

async function changeFlags(
  sql: Sql,
  { mailboxNumber, folderNumber }: FolderKey,
  changes: FolderUpdate['flags'],
): Promise<void> {
  const now = changes.map(({ uid, flags }) => ({ uid, ...storedFlags(flags) }));
  await sql.query(CHANGE_FLAGS, [
    mailboxNumber,
    folderNumber,
    now.map(({ uid }) => uid),
    now.map(({ seen }) => seen),
    now.map(({ flagged }) => flagged),
    now.map(({ answered }) => answered),
    now.map(({ draft }) => draft),
    now.map(({ deleted }) => deleted),
    now.map(({ keywords }) => keywords),
  ]);
}

/** Held to the end of the transaction: only one at a time reads and writes threads. */
const LOCK = `
  insert into mirror.thread_version as now (mailbox_number) values ($1)
  on conflict (mailbox_number) do update set version = now.version`;

const ADD_NAMES = `
  insert into mirror.thread_name (mailbox_number, name_key, thread_key)
  select $1, * from unnest($2::bigint[], $3::bigint[])`;

const MERGE = `
  update mirror.thread_name as named set thread_key = merged.into_key
  from unnest($2::bigint[], $3::bigint[]) as merged (from_key, into_key)
  where named.mailbox_number = $1 and named.thread_key = merged.from_key`;

const FORGET = 'delete from mirror.thread where mailbox_number = $1 and thread_key = any($2::bigint[])';

const WRITE_THREADS = `
  insert into mirror.thread as known (mailbox_number, thread_key, thread_id, names)
  select $1, * from unnest($2::bigint[], $3::text[], $4::int[])
  on conflict (mailbox_number, thread_key) do update set names = excluded.names`;

/** A few statements for any number of messages; of two threads that merge, only the smaller is rewritten. */
async function ingestNames(
  sql: Sql,
  mailboxNumber: number,
  messages: readonly (readonly ThreadName[])[],
): Promise<void> {
  const keys = [...new Set(messages.flat().map(({ key }) => key))];
  if (keys.length === 0) return;
  await sql.query(LOCK, [mailboxNumber]);
  const joined = joinThreads(messages, await threadsNamed(sql, mailboxNumber, keys));
  const changed = [...new Set(joined.filter((thread) => thread !== null))].filter(
    ({ added, known }) => added.length > 0 || known.length > 1,
  );
  if (changed.length === 0) return;
  await merge(sql, mailboxNumber, changed);
  const added = changed.flatMap((thread) => thread.added.map((name) => ({ name, into: thread.key })));
  await sql.query(ADD_NAMES, [mailboxNumber, added.map(({ name }) => name), added.map(({ into }) => into)]);
  await sql.query(WRITE_THREADS, [
    mailboxNumber,
    changed.map(({ key }) => key),
    changed.map(({ id }) => id),
    changed.map((thread) => thread.known.reduce((sum, { names }) => sum + names, thread.added.length)),
  ]);
}

async function merge(sql: Sql, mailboxNumber: number, changed: readonly JoinedThread[]): Promise<void> {
  const merged = changed.flatMap(({ key, known }) =>
    known.slice(1).map((smaller) => ({ from: smaller.key, into: key })),
  );
  if (merged.length === 0) return;
  const from = merged.map((each) => each.from);
  await sql.query(MERGE, [mailboxNumber, from, merged.map(({ into }) => into)]);
  await sql.query(FORGET, [mailboxNumber, from]);
  await sql.query('update mirror.thread_version set version = version + 1 where mailbox_number = $1', [
    mailboxNumber,
  ]);
}

const AT_ONCE = 1_000;

const UNNAMED = `
  select text.uid, text.envelope from mirror.folder folder
  join mirror.message_text text on text.mailbox_number = folder.mailbox_number
    and text.folder_number = folder.folder_number and text.uid < folder.named_from
  where folder.mailbox_number = $1 and folder.folder_number = $2 and folder.named_from > 1
  order by text.uid desc limit ${String(AT_ONCE)}`;

/** The next messages of a mirror that was made before threads were stored; true when there are no more. */
export async function nameSome(
  sql: Sql,
  { mailboxNumber, folderNumber }: FolderKey,
  threadId: (root: string) => string,
): Promise<boolean> {
  const rows = await sql.query<{ uid: string; envelope: string }>(UNNAMED, [mailboxNumber, folderNumber]);
  await ingestNames(
    sql,
    mailboxNumber,
    rows.map(({ envelope }) => threadNames(namesInEnvelope(envelope), threadId)),
  );
  const isLast = rows.length < AT_ONCE;
  await sql.query(
    `update mirror.folder set named_from = $3, version = nextval('mirror.folder_version')
     where mailbox_number = $1 and folder_number = $2`,
    [mailboxNumber, folderNumber, isLast ? 1 : (rows.at(-1)?.uid ?? 1)],
  );
  return isLast;
}
