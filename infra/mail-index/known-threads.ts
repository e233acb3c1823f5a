/** Reads threads from the index: for messages fetched from the server, and for ids that callers name. */
import type { Sql } from '../../commands/ports/ports.ts';
import type { ThreadsAsked, ThreadsNow, WholeMailbox } from './folder-mirror.ts';
import { inThread, joinThreads, keyOfText, type KnownThread, threadNames } from './join-threads.ts';

/** The keys of all names of the threads that have one of the names `keys`, a parameter of type `bigint[]`, of the mailbox `$1`. */
export const namesOfThreads = (keys: string): string => `
  array(select other.name_key from mirror.thread_name own join mirror.thread_name other
    on other.mailbox_number = own.mailbox_number and other.thread_key = own.thread_key
    where own.mailbox_number = $1::int and own.name_key = any(${keys}))`;

/** The version of the threads of the mailbox `$1`, whose folders are `folders`; null unless the mirrors of all are complete. */
export const threadsVersion = (folders: string): string => `
  case when cardinality(${folders}) > 0 and cardinality(${folders}) = (select count(*) from mirror.folder whole
      where whole.mailbox_number = $1::int and whole.folder_number = any(${folders})
        and whole.indexed_from = 1 and whole.named_from = 1)
    then coalesce((select now.version from mirror.thread_version now where now.mailbox_number = $1::int), 0) end`;

const THREADS = `
  select named.name_key, thread.thread_key, thread.thread_id, thread.names from mirror.thread_name named
  join mirror.thread thread on thread.mailbox_number = named.mailbox_number and thread.thread_key = named.thread_key
  where named.mailbox_number = $1::int and named.name_key = any($2::bigint[])`;

interface ThreadRow extends Record<string, unknown> {
  readonly name_key: string;
  readonly thread_key: string;
  readonly thread_id: string;
  readonly names: number;
}

/** By name key, the threads that have one of these names. */
export async function threadsNamed(
  sql: Sql,
  mailboxNumber: number,
  nameKeys: readonly string[],
): Promise<ReadonlyMap<string, KnownThread>> {
  return byName(await sql.query<ThreadRow>(THREADS, [mailboxNumber, nameKeys]));
}

const byName = (rows: readonly ThreadRow[]): ReadonlyMap<string, KnownThread> =>
  new Map(
    rows.map(({ name_key, thread_key, thread_id, names }) => [
      name_key,
      { key: thread_key, id: thread_id, names },
    ]),
  );

/** The version beside a thread, or beside nulls. */
type VersionedRow = { readonly version: string | null } & (ThreadRow | { readonly name_key: null });

const NOW = `
  select state.version, threads.* from (select ${threadsVersion('$3::int[]')} as version) as state
  left join (${THREADS}) as threads on true`;

/** Reads one snapshot. Null while the index of the mailbox is not complete. Throws `store_unavailable`. */
export async function threadsNow(
  sql: Sql,
  { mailboxNumber, folderNumbers }: WholeMailbox,
  { messages, ids }: ThreadsAsked,
  threadId: (root: string) => string,
): Promise<ThreadsNow | null> {
  const names = messages.map((message) => threadNames(message, threadId));
  const asked = ids.map((id) => ({ id, key: keyOfText(id) }));
  const keys = [...new Set([...names.flat(), ...asked].map(({ key }) => key))];
  const rows = await sql.query<VersionedRow>(NOW, [mailboxNumber, keys, folderNumbers]);
  const version = rows[0]?.version ?? null;
  if (version === null) return null;
  const known = byName(rows.filter((row) => row.name_key !== null));
  const joined = joinThreads(names, known);
  return {
    version,
    messages: messages.map((message, at) => inThread(message, joined[at] ?? null)),
    ids: new Map(
      asked.flatMap(({ id, key }) => {
        const thread = known.get(key);
        return thread === undefined ? [] : [[id, thread.id] as const];
      }),
    ),
  };
}
