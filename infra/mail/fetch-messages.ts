/** UID FETCH: one whole answer per message. */
import type { FetchMessageObject, FetchQueryObject, ImapFlow } from 'imapflow';
import type { ImapConnection } from './imap-connection.ts';
import { uidSet } from './uid-set.ts';

/**
 * The messages of the open folder with these items, one entry each; a message the server does not answer for has none.
 *
 * A server may add FETCH responses that nobody asked for, mostly flags another client changed (RFC 3501 7.4.2): those of an
 * asked message are put together with its answer, the last value of an item counts; the others are told to the watcher of the
 * connection. Throws like `ImapConnection.run`.
 */
export async function fetchMessages(
  connection: ImapConnection,
  uids: readonly number[],
  items: FetchQueryObject,
): Promise<readonly FetchMessageObject[]> {
  const asked = new Set(uids);
  const messages = new Map<number, FetchMessageObject>();
  await connection.run(async (client) => {
    for (const response of await client.fetchAll(uidSet(uids), { ...items, uid: true }, { uid: true })) {
      const { uid } = response;
      const earlier = messages.get(uid);
      if (asked.has(uid)) messages.set(uid, earlier === undefined ? response : together(earlier, response));
      else reportFlags(client, response);
    }
  });
  return [...messages.values()].filter((message) => isAnswer(message, items));
}

/** imapflow emits no event for a response within the answer to a FETCH. */
function reportFlags(client: ImapFlow, { seq, uid, flags }: FetchMessageObject): void {
  if (flags === undefined || client.mailbox === false) return;
  client.emit('flags', { path: client.mailbox.path, seq, uid, flags });
}

function together(earlier: FetchMessageObject, later: FetchMessageObject): FetchMessageObject {
  const bodyParts = new Map([...(earlier.bodyParts ?? []), ...(later.bodyParts ?? [])]);
  return { ...earlier, ...later, ...(bodyParts.size > 0 && { bodyParts }) };
}

/** False for a message of which only unasked items came: it was removed before the server answered for it. */
function isAnswer(message: FetchMessageObject, items: FetchQueryObject): boolean {
  if (items.size === true) return message.size !== undefined || message.internalDate !== undefined;
  if (items.flags === true) return message.flags !== undefined;
  // A server may leave out an item that is empty.
  return message.flags === undefined || Object.keys(items).some((name) => name in message);
}
