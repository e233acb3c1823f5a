/** Fetches one part of several messages, and again alone for messages where a server returned too little. */
import { fetchMessages } from './fetch-messages.ts';
import type { ImapConnection } from './imap-connection.ts';

/** A message, and the encoded size that its BODYSTRUCTURE reports. */
export interface PartPlace {
  readonly uid: number;
  readonly size: number;
}

export interface PartRange {
  readonly path: string;
  readonly maxLength: number;
}

/**
 * The first bytes of the part at `path` of each message. Where the server returns fewer than it reported – NIL, nothing or
 * a shorter piece, as some do for all but the first message of a FETCH – that message is fetched once more, alone; the
 * longer answer counts. Throws like `ImapConnection.run`.
 */
export async function fetchPart(
  connection: ImapConnection,
  places: readonly PartPlace[],
  range: PartRange,
): Promise<ReadonlyMap<number, Uint8Array>> {
  const uids = places.map(({ uid }) => uid);
  const found = new Map(await fetchTogether(connection, uids, range));
  for (const { uid, size } of places) {
    const length = found.get(uid)?.length ?? 0;
    if (length >= Math.min(size, range.maxLength)) continue;
    const alone = (await fetchTogether(connection, [uid], range)).get(uid);
    if (alone !== undefined && alone.length > length) found.set(uid, alone);
  }
  return found;
}

async function fetchTogether(
  connection: ImapConnection,
  uids: readonly number[],
  { path, maxLength }: PartRange,
): Promise<ReadonlyMap<number, Uint8Array>> {
  const fetched = await fetchMessages(connection, uids, { bodyParts: [{ key: path, start: 0, maxLength }] });
  return new Map(
    fetched.flatMap(({ uid, bodyParts }): [number, Uint8Array][] => {
      const bytes = bodyParts?.get(path.toLowerCase());
      return bytes ? [[uid, bytes]] : [];
    }),
  );
}
