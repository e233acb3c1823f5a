/**
 * Threads that are one conversation: a message is filed under the first id it names (`contract.md` 1), and one that names only
 * its parent begins a thread of its own. Where the index shows that parent in another thread, both ids mean both.
 */
import type { Filter } from '../../commands/kernel/mail-filter.ts';
import type { MailQuery } from '../../commands/kernel/mail-port.ts';
import { bareMessageId } from '../../commands/kernel/matches.ts';
import type { Sql } from '../../commands/kernel/ports.ts';
import { keyOfText } from './index-keys.ts';
import { namesOf } from './message-row.ts';

/** By thread id, all ids of its conversation, itself first. */
export type LinkedThreads = ReadonlyMap<string, readonly string[]>;

/** No conversation of people has more parts; what an attacker's has beyond them is found by its own ids. */
const MOST_THREADS = 20;
const MOST_MESSAGES = 1_000;
const MOST_STEPS = 10;

const NAMED = `
  select t.envelope from mirror.message m join mirror.message_text t using (mailbox_number, folder_number, uid)
  where m.mailbox_number = $1 and not m.deleted and m.thread_key = any($2::bigint[])
  union all
  select t.envelope from mirror.message m join mirror.message_text t using (mailbox_number, folder_number, uid)
  where m.mailbox_number = $1 and not m.deleted and m.message_key = any($3::bigint[])
  limit ${String(MOST_MESSAGES)}`;

/** Ids of the conversation of one thread, as far as the copies know it. Throws `store_unavailable`. */
export async function linkedThreads(
  sql: Sql,
  mailboxNumber: number,
  id: string,
  threadId: (root: string) => string,
): Promise<readonly string[]> {
  const conversation = new Conversation(id, threadId);
  for (let step = 0; step < MOST_STEPS && conversation.isOpen; step += 1) {
    const { threadKeys, messageKeys } = conversation.take();
    const rows = await sql.query<{ envelope: string }>(NAMED, [mailboxNumber, threadKeys, messageKeys]);
    for (const { envelope } of rows) conversation.meet(namesOf(envelope));
  }
  return conversation.ids;
}

interface Names {
  readonly messageId: string | null;
  readonly threadRoot: string | null;
}

class Conversation {
  readonly #threadId: (root: string) => string;
  readonly #ids: Set<string>;
  /** Message-IDs of its messages and of their roots, bare. */
  readonly #names = new Set<string>();
  readonly #asked = new Set<string>();
  #threadKeys: string[];
  #messageKeys: string[] = [];

  constructor(id: string, threadId: (root: string) => string) {
    this.#threadId = threadId;
    this.#ids = new Set([id]);
    this.#threadKeys = [keyOfText(id)];
  }

  get ids(): readonly string[] {
    return [...this.#ids];
  }

  /** True while there is something to look up. */
  get isOpen(): boolean {
    return this.#threadKeys.length + this.#messageKeys.length > 0 && this.#ids.size < MOST_THREADS;
  }

  take(): { readonly threadKeys: readonly string[]; readonly messageKeys: readonly string[] } {
    const taken = { threadKeys: this.#threadKeys, messageKeys: this.#messageKeys };
    [this.#threadKeys, this.#messageKeys] = [[], []];
    return taken;
  }

  /** Takes a message in, unless only a short key led to it. */
  meet({ messageId, threadRoot }: Names): void {
    // Without a root a message has no Message-ID either.
    if (threadRoot === null) return;
    const id = this.#threadId(threadRoot);
    const names = [threadRoot, ...(messageId === null ? [] : [messageId])];
    const isOurs = this.#ids.has(id) || names.some((name) => this.#names.has(bareMessageId(name)));
    if (!isOurs || (!this.#ids.has(id) && this.#ids.size >= MOST_THREADS)) return;
    this.#ids.add(id);
    for (const name of names) this.#ask(name);
  }

  /** For the message of this name, and for those that are filed under it. */
  #ask(name: string): void {
    const bare = bareMessageId(name);
    this.#names.add(bare);
    if (this.#asked.has(bare)) return;
    this.#asked.add(bare);
    this.#threadKeys.push(keyOfText(this.#threadId(name)));
    this.#messageKeys.push(keyOfText(bare));
  }
}

/** The query with each thread id standing for its whole conversation. */
export async function acrossLinkedThreads(
  query: MailQuery,
  linked: (threadId: string) => Promise<readonly string[]>,
): Promise<MailQuery> {
  const asked = new Set(threadIdsOf(query.filter));
  if (asked.size === 0) return query;
  const found = new Map<string, readonly string[]>();
  for (const id of asked) found.set(id, await linked(id));
  return { ...query, filter: widened(query.filter, found) };
}

const innerOf = ({ any = [], all = [], not }: Filter): readonly Filter[] => [
  ...any,
  ...all,
  ...(not ? [not] : []),
];

const threadIdsOf = (filter: Filter): readonly string[] => [
  ...(filter.thread_id === undefined ? [] : [filter.thread_id]),
  ...innerOf(filter).flatMap(threadIdsOf),
];

function widened(filter: Filter, linked: LinkedThreads): Filter {
  const { thread_id, any, all = [], not, ...leaves } = filter;
  const ids = thread_id === undefined ? [] : (linked.get(thread_id) ?? [thread_id]);
  const [only, ...more] = ids;
  const inner = [
    ...all.map((each) => widened(each, linked)),
    ...(more.length > 0 ? [{ any: ids.map((id) => ({ thread_id: id })) }] : []),
  ];
  return {
    ...leaves,
    ...(only !== undefined && more.length === 0 ? { thread_id: only } : {}),
    ...(inner.length > 0 ? { all: inner } : {}),
    ...(any === undefined ? {} : { any: any.map((each) => widened(each, linked)) }),
    ...(not === undefined ? {} : { not: widened(not, linked) }),
  };
}
