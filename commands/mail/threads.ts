/** Messages grouped into threads (`contract.md` 4): the filter `thread_id` and the view `threads`. */
import type { Filter } from './mail-filter.ts';
import { compareKeysets, type Keyset, keysetOf, type MailQuery, type Order } from './query.ts';
import type { FetchedMessage } from './message.ts';

export interface Thread {
  /** The place of its first message: a page of threads continues after that of its last thread. */
  readonly first: Keyset;
  readonly messages: readonly FetchedMessage[];
}

/** Threads in the order of their first message. A message without a thread id is a thread of its own. */
export function threadsOf(messages: readonly FetchedMessage[], order: Order): readonly Thread[] {
  const sorted = messages
    .map((message) => ({ message, keyset: keysetOf(message, order) }))
    .toSorted((a, b) => compareKeysets(order, a.keyset, b.keyset));
  const threads = new Map<string | FetchedMessage, { first: Keyset; messages: FetchedMessage[] }>();
  for (const { message, keyset } of sorted) {
    const key = message.threadId ?? message;
    const thread = threads.get(key);
    if (thread === undefined) threads.set(key, { first: keyset, messages: [message] });
    else thread.messages.push(message);
  }
  return [...threads.values()];
}

/** The messages of a thread in the one order that all orders of threads use. */
export const newestFirst = (thread: readonly FetchedMessage[]): readonly FetchedMessage[] =>
  thread.toSorted((a, b) =>
    compareKeysets('received_desc', keysetOf(a, 'received_desc'), keysetOf(b, 'received_desc')),
  );

type Names = Pick<FetchedMessage, 'messageId' | 'inReplyTo' | 'references' | 'threadRoot'>;

/**
 * The Message-IDs that connect a message with others, its root first: its references and its own (RFC 5322
 * 3.6.4).
 */
export function namesOf({ messageId, inReplyTo, references, threadRoot }: Names): readonly string[] {
  const names = [threadRoot, ...references, inReplyTo, messageId].filter((name) => name !== null);
  // Some senders omit the brackets, and replies to them add them.
  return [...new Set(names.flatMap((name) => (name.startsWith('<') ? [name] : [name, `<${name}>`])))];
}

/** The thread ids that a filter contains, groups included. */
export const threadIdsOf = (filter: Filter): readonly string[] => [
  ...(filter.thread_id === undefined ? [] : [filter.thread_id]),
  ...[...(filter.any ?? []), ...(filter.all ?? []), ...(filter.not ? [filter.not] : [])].flatMap(threadIdsOf),
];

/** True when the answer depends on the grouping of messages into threads. */
export const asksForThreads = ({ filter, byThread }: Pick<MailQuery, 'filter' | 'byThread'>): boolean =>
  byThread === true || threadIdsOf(filter).length > 0;

/** The filter with each thread id replaced by the current id of that thread. */
export function withThreadIds(filter: Filter, now: ReadonlyMap<string, string>): Filter {
  const { thread_id, any, all, not } = filter;
  return {
    ...filter,
    ...(thread_id === undefined ? {} : { thread_id: now.get(thread_id) ?? thread_id }),
    ...(any && { any: any.map((each) => withThreadIds(each, now)) }),
    ...(all && { all: all.map((each) => withThreadIds(each, now)) }),
    ...(not && { not: withThreadIds(not, now) }),
  };
}
