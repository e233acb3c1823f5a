/** Assigns messages to threads: the connected components of the names they have and refer to. Pure. */
import { createHash } from 'node:crypto';
import type { FetchedMessage } from '../../commands/mail/message.ts';
import { namesOf } from '../../commands/mail/threads.ts';

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
export interface KnownThread {
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
export function inThread(message: FetchedMessage, thread: JoinedThread | null): FetchedMessage {
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
