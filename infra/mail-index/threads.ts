/** Threads of the index: the connected components of the names that messages have and refer to. */
import { createHash } from 'node:crypto';
import type { FetchedMessage } from '../../commands/mail/message.ts';
import { namesOf } from '../../commands/mail/threads.ts';
import type { Sql } from '../../commands/ports/ports.ts';
import type { ThreadsAsked, ThreadsNow, WholeMailbox } from './folder-mirror.ts';

/** A Message-ID in the index: the thread id of a thread that begins with it, and the short key of that. */
export interface ThreadName {
  readonly id: string;
  readonly key: string;
}

/** The names of a message, its root first; none for a message without any Message-ID. */
export const threadNames = (
  message: Parameters<typeof namesOf>[0],
  threadId: (root: string) => string,
): readonly ThreadName[] =>
  namesOf(message).map((name) => {
    const id = threadId(name);
    return { id, key: keyOfText(id) };
  });

/** A thread of the index. */
interface KnownThread {
  /** Key of one of its names. */
  readonly key: string;
  readonly id: string;
  /** How many names it has. */
  readonly names: number;
}

/** A thread including the given messages. */
export interface JoinedThread {
  readonly key: string;
  readonly id: string;
  /** Threads of the index that are parts of it, the largest first, whose id it keeps; none = it is new. */
  readonly known: readonly KnownThread[];
  /** Keys of the names that are not in the index. */
  readonly added: readonly string[];
}

/** The thread of each message, given by their names; `known` is by name key. Null for one without names. */
export function joinThreads(
  messages: readonly (readonly ThreadName[])[],
  known: ReadonlyMap<string, KnownThread>,
): readonly (JoinedThread | null)[] {
  const sets = new DisjointSets();
  for (const names of messages) {
    for (const { key } of names) {
      sets.join(key, names[0]?.key ?? key);
      sets.join(key, known.get(key)?.key ?? key);
    }
  }
  const named = new Map(messages.flat().map((name) => [name.key, name]));
  const joined = new Map<string, JoinedThread>();
  for (const [root, names] of Map.groupBy(named.values(), ({ key }) => sets.rootOf(key))) {
    joined.set(root, joinedThread(names, known));
  }
  return messages.map(([first]) =>
    first === undefined ? null : (joined.get(sets.rootOf(first.key)) ?? null),
  );
}

function joinedThread(names: readonly ThreadName[], known: ReadonlyMap<string, KnownThread>): JoinedThread {
  const parts = new Map(names.flatMap(({ key }) => known.get(key) ?? []).map((part) => [part.key, part]));
  const largestFirst = [...parts.values()].toSorted((a, b) => b.names - a.names || (a.key < b.key ? -1 : 1));
  const [first] = names;
  const { key, id } = largestFirst[0] ?? first ?? { key: '', id: '' };
  const added = names.filter((name) => !known.has(name.key)).map((name) => name.key);
  return { key, id, known: largestFirst, added };
}

/** A message that was just fetched, with its thread. */
function inThread(message: FetchedMessage, thread: JoinedThread | null): FetchedMessage {
  if (thread === null) return message;
  const merged = thread.known.slice(1).map(({ id }) => id);
  return { ...message, threadId: thread.id, ...(merged.length > 0 ? { mergedThreads: merged } : {}) };
}

/** Union-find with path halving. */
class DisjointSets {
  readonly #parents = new Map<string, string>();

  rootOf(key: string): string {
    for (let at = key; ;) {
      const parent = this.#parents.get(at) ?? at;
      if (parent === at) return at;
      const above = this.#parents.get(parent) ?? parent;
      this.#parents.set(at, above);
      at = above;
    }
  }

  join(a: string, b: string): void {
    const [first, second] = [this.rootOf(a), this.rootOf(b)];
    if (first !== second) this.#parents.set(first, second);
  }
}

/** The first 64 bits of SHA-256, as Postgres's signed `bigint`: indexed instead of the text, and checked where it is found. */
export const keyOfText = (text: string): string =>
  String(createHash('sha256').update(text).digest().readBigInt64BE(0));

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

const NOW = {
  name: 'threads_now',
  text: `
    select state.version, threads.* from (select ${threadsVersion('$3::int[]')} as version) as state
    left join (${THREADS}) as threads on true`,
};

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
