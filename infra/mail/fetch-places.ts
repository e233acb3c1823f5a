/** Fetches messages by place, in any folder. */
import type { FetchedMessage, MessageRef } from '../../commands/mail/message.ts';
import type { Depth } from './fetched-message.ts';
import { fetchEntries } from './folder-candidates.ts';
import type { ImapConnection } from './imap-connection.ts';
import { fetchTexts, type Structures, type TextRequest } from './message-text.ts';
import { openListed } from './open-folder.ts';

const keyOf = ({ folder, uidValidity, uid }: MessageRef): string =>
  `${String(folder.number)}/${String(uidValidity)}/${String(uid)}`;

/** In the order requested; null where the message is gone, marked `\Deleted`, or the UIDVALIDITY of its folder changed. */
export async function fetchPlaces(
  connection: ImapConnection,
  refs: readonly MessageRef[],
  depth: Depth,
  text: TextRequest | null,
): Promise<readonly (FetchedMessage | null)[]> {
  const found = new Map<string, FetchedMessage>();
  for (const group of Map.groupBy(refs, ({ folder }) => folder.number).values()) {
    for (const message of await fetchGroup(connection, group, depth, text)) {
      found.set(keyOf(message.ref), message);
    }
  }
  return refs.map((ref) => found.get(keyOf(ref)) ?? null);
}

async function fetchGroup(
  connection: ImapConnection,
  group: readonly MessageRef[],
  depth: Depth,
  text: TextRequest | null,
): Promise<readonly FetchedMessage[]> {
  const [first] = group;
  const open = first === undefined ? null : await openListed(connection, first.folder, 'read');
  if (first === undefined || open === null) return [];
  const { uidValidity } = open;
  const uids = group.filter((ref) => ref.uidValidity === uidValidity).map(({ uid }) => uid);
  const entries = await fetchEntries(connection, { folder: first.folder, uidValidity }, uids, depth);
  if (text === null) return entries.map(({ message }) => message);
  const texts = await fetchTexts(
    connection,
    entries.map(({ message }) => message.ref.uid),
    text,
    depth === 'structure' ? structuresOf(entries) : null,
  );
  return entries.map(({ message }) => {
    const found = texts.get(message.ref.uid);
    return found === undefined ? message : { ...message, text: found };
  });
}

const structuresOf = (entries: Awaited<ReturnType<typeof fetchEntries>>): Structures =>
  new Map(
    entries.flatMap(({ message, structure }) =>
      structure === undefined ? [] : [[message.ref.uid, structure] as const],
    ),
  );
