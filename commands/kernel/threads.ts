/** Messages by conversation (`contract.md` 4, view `threads`). */
import type { FetchedMessage, Keyset, Order } from './mail-port.ts';
import { compareKeysets, keysetOf } from './message-order.ts';

export interface Thread {
  /** Where its first message stands: a page of threads goes on after that of its last thread. */
  readonly first: Keyset;
  readonly messages: readonly FetchedMessage[];
}

/** Threads in the order of their first message. A message without any Message-ID is a thread of its own. */
export function threadsOf(messages: readonly FetchedMessage[], order: Order): readonly Thread[] {
  const sorted = messages
    .map((message) => ({ message, keyset: keysetOf(message, order) }))
    .toSorted((a, b) => compareKeysets(order, a.keyset, b.keyset));
  const threads = new Map<string | FetchedMessage, { first: Keyset; messages: FetchedMessage[] }>();
  for (const { message, keyset } of sorted) {
    const key = message.threadRoot ?? message;
    const thread = threads.get(key);
    if (thread === undefined) threads.set(key, { first: keyset, messages: [message] });
    else thread.messages.push(message);
  }
  return [...threads.values()];
}

/** The messages of a thread as every order of threads shows them. */
export const newestFirst = (thread: readonly FetchedMessage[]): readonly FetchedMessage[] =>
  thread.toSorted((a, b) =>
    compareKeysets('received_desc', keysetOf(a, 'received_desc'), keysetOf(b, 'received_desc')),
  );
