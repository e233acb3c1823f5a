/** Adds the names of messages to the threads of a mailbox, in the caller's transaction. */
import type { Sql } from '../../commands/ports/ports.ts';
import type { FolderKey } from './folder-mirror.ts';
import { type JoinedThread, joinThreads, type ThreadName, threadNames } from './join-threads.ts';
import { threadsNamed } from './known-threads.ts';
import { namesInEnvelope } from './message-row.ts';

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
export async function ingestNames(
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
