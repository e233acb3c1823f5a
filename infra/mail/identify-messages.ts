/** Finds the messages of an action with as few commands as possible. */
import { GatewayError } from '../../commands/values/errors.ts';
import type { Identified, MessageRef } from '../../commands/mail/message.ts';
import { fetchEnvelopes } from './fetch-envelopes.ts';
import { isDeleted, messageIdOf, subjectOf } from './fetched-message.ts';
import type { ImapConnection } from './imap-connection.ts';
import { openListed } from './open-folder.ts';
import { inPieces } from './uid-set.ts';

type Found = ReadonlyMap<number, Identified>;

const UIDS_PER_FETCH = 500;
const NOTHING: Found = new Map();

/** In the order requested; null where the message is gone, marked `\Deleted`, or the UIDVALIDITY of its folder changed. */
export async function identifyMessages(
  connection: ImapConnection,
  refs: readonly MessageRef[],
): Promise<readonly (Identified | null)[]> {
  const placeOf = ({ folder, uidValidity }: MessageRef): string =>
    `${String(folder.number)}/${String(uidValidity)}`;
  const found = new Map<string, Found>();
  for (const [place, group] of Map.groupBy(refs, placeOf)) {
    found.set(place, await identifyGroup(connection, group));
  }
  return refs.map((ref) => found.get(placeOf(ref))?.get(ref.uid) ?? null);
}

/** Opened for writing, because an action follows. */
async function identifyGroup(connection: ImapConnection, group: readonly MessageRef[]): Promise<Found> {
  const [first] = group;
  if (first === undefined) return NOTHING;
  const { folder, uidValidity } = first;
  const uids = group.map(({ uid }) => uid);
  if (connection.openForWriting(folder.path)?.uidValidity === uidValidity) {
    const found = await identifyAsOpen(connection, uids);
    if (uids.every((uid) => found.has(uid))) return found;
  }
  // A command is worth it only for messages that are new to the connection, or reported to it as gone.
  const open = await openListed(connection, folder, 'write');
  return open?.uidValidity === uidValidity ? await identifyUids(connection, uids) : NOTHING;
}

/**
 * A server may refuse to answer for messages that other clients removed and that it has not reported yet (EXPUNGEISSUED,
 * RFC 5530).
 */
async function identifyAsOpen(connection: ImapConnection, uids: readonly number[]): Promise<Found> {
  return await identifyUids(connection, uids).catch((error: unknown) => {
    if (error instanceof GatewayError && error.code === 'provider_rejected') return NOTHING;
    throw error;
  });
}

async function identifyUids(connection: ImapConnection, uids: readonly number[]): Promise<Found> {
  const found = new Map<number, Identified>();
  for (const piece of inPieces(uids, UIDS_PER_FETCH)) {
    const fetched = await fetchEnvelopes(connection, piece, { flags: true, envelope: true });
    for (const message of fetched) {
      if (isDeleted(message)) continue;
      found.set(message.uid, { messageId: messageIdOf(message), subject: subjectOf(message) });
    }
  }
  connection.noteAnswered(found.keys());
  return found;
}
