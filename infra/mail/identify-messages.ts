/** The messages an action is meant for, found with as few questions as it takes. */
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

/** In the order asked; null where the message is gone, marked `\Deleted`, or its folder was made anew. */
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

/** Opened for writing, as the action that follows needs it. */
async function identifyGroup(connection: ImapConnection, group: readonly MessageRef[]): Promise<Found> {
  const [first] = group;
  if (first === undefined) return NOTHING;
  const { folder, uidValidity } = first;
  const uids = group.map(({ uid }) => uid);
  if (connection.openForWriting(folder.path)?.uidValidity === uidValidity) {
    const found = await identifyAsOpen(connection, uids);
    if (uids.every((uid) => found.has(uid))) return found;
  }
  // Only what the connection has not been told of, or was told is gone, is worth a question whether that is still so.
  const open = await openListed(connection, folder, 'write');
  return open?.uidValidity === uidValidity ? await identifyUids(connection, uids) : NOTHING;
}

/** A server may refuse to tell of messages that others removed and that it has not told of yet (EXPUNGEISSUED, RFC 5530). */
async function identifyAsOpen(connection: ImapConnection, uids: readonly number[]): Promise<Found> {
  return await identifyUids(connection, uids).catch((error: unknown) => {
    if (error instanceof GatewayError && error.code === 'provider_rejected') return NOTHING;
    throw error;
  });
}

async function identifyUids(connection: ImapConnection, uids: readonly number[]): Promise<Found> {
  const asked = new Set(uids);
  const found = new Map<number, Identified>();
  for (const piece of inPieces(uids, UIDS_PER_FETCH)) {
    const fetched = await fetchEnvelopes(connection, piece, { uid: true, flags: true, envelope: true });
    for (const message of fetched) {
      if (!asked.has(message.uid) || isDeleted(message)) continue;
      found.set(message.uid, { messageId: messageIdOf(message), subject: subjectOf(message) });
    }
  }
  connection.noteAnswered(found.keys());
  return found;
}
