/** UID FETCH: one whole answer per message. */
import type { FetchMessageObject, FetchQueryObject } from 'imapflow';
import type { ImapConnection } from './imap-connection.ts';
import { uidSet } from './uid-set.ts';

/** Items a server sends only when asked, and never as NIL. */
const ONLY_IF_ASKED = ['internalDate', 'size', 'headers', 'source', 'bodyParts'] as const;

/**
 * The messages of the open folder with these items, one entry each; a message the server does not answer for has none. A
 * server may add FETCH responses that nobody asked for, mostly flags another client changed, also of other messages, and
 * may split the answer for a message (RFC 9051 7.5.2): responses for one message are put together, the last value of an
 * item counts. Throws like `ImapConnection.run`.
 */
export async function fetchMessages(
  connection: ImapConnection,
  uids: readonly number[],
  items: FetchQueryObject,
): Promise<readonly FetchMessageObject[]> {
  const responses = await connection.run((client) =>
    client.fetchAll(uidSet(uids), { ...items, uid: true }, { uid: true }),
  );
  const asked = new Set(uids);
  const messages = new Map<number, FetchMessageObject>();
  for (const response of responses) {
    if (!asked.has(response.uid)) continue;
    const earlier = messages.get(response.uid);
    messages.set(response.uid, earlier === undefined ? response : together(earlier, response));
  }
  const promised = ONLY_IF_ASKED.filter((name) => items[name] !== undefined);
  // Only its flags were reported: the message went before it was answered for.
  return [...messages.values()].filter(
    (message) => promised.length === 0 || promised.some((name) => name in message),
  );
}

function together(earlier: FetchMessageObject, later: FetchMessageObject): FetchMessageObject {
  const bodyParts = new Map([...(earlier.bodyParts ?? []), ...(later.bodyParts ?? [])]);
  return { ...earlier, ...later, ...(bodyParts.size > 0 && { bodyParts }) };
}
