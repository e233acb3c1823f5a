/** Fetches messages by place, in any folder. */
import type { FetchedMessage, FetchedText, MessageRef } from '../../commands/mail/message.ts';
import type { Depth } from './fetched-message.ts';
import { fetchEntries, type FetchedEntry } from './folder-candidates.ts';
import type { ImapConnection } from './imap-connection.ts';
import { fetchTexts, type Structures, type TextRequest } from './message-text.ts';
import { openListed } from './open-folder.ts';

export interface PlacesRequest {
  readonly depth: Depth;
  /** Null = without text. */
  readonly text: TextRequest | null;
  /** Adds their threads to the messages, which keep their places. It runs while the last texts are fetched. */
  readonly withThreads: (messages: readonly FetchedMessage[]) => Promise<readonly FetchedMessage[]>;
}

const keyOf = ({ folder, uidValidity, uid }: MessageRef): string =>
  `${String(folder.number)}/${String(uidValidity)}/${String(uid)}`;

/** In the order requested; null where the message is gone, marked `\Deleted`, or the UIDVALIDITY of its folder changed. */
export async function fetchPlaces(
  connection: ImapConnection,
  refs: readonly MessageRef[],
  { depth, text, withThreads }: PlacesRequest,
): Promise<readonly (FetchedMessage | null)[]> {
  const groups = [...Map.groupBy(refs, ({ folder }) => folder.number).values()];
  const texts = new Map<string, FetchedText>();
  const found: FetchedMessage[] = [];
  let threaded = Promise.resolve<readonly FetchedMessage[]>(found);
  for (const [at, group] of groups.entries()) {
    const entries = await fetchGroup(connection, group, depth);
    found.push(...entries.map(({ message }) => message));
    const reading = text === null ? [] : readTexts(connection, entries, depth, text);
    if (at === groups.length - 1) {
      threaded = withThreads(found);
      // A failure is thrown once the connection is free: the next one to use it would wait behind the texts.
      threaded.catch(() => undefined);
    }
    for (const [place, shown] of await reading) texts.set(place, shown);
  }
  const byPlace = new Map((await threaded).map((message) => [keyOf(message.ref), message]));
  return refs.map((ref) => {
    const message = byPlace.get(keyOf(ref));
    const shown = texts.get(keyOf(ref));
    if (message === undefined) return null;
    return shown === undefined ? message : { ...message, text: shown };
  });
}

type Entries = readonly FetchedEntry[];

/** Of one folder, which stays open. */
async function fetchGroup(
  connection: ImapConnection,
  group: readonly MessageRef[],
  depth: Depth,
): Promise<Entries> {
  const [first] = group;
  const open = first === undefined ? null : await openListed(connection, first.folder, 'read');
  if (first === undefined || open === null) return [];
  const { uidValidity } = open;
  const uids = group.filter((ref) => ref.uidValidity === uidValidity).map(({ uid }) => uid);
  return await fetchEntries(connection, { folder: first.folder, uidValidity }, uids, depth);
}

/** By place; the folder of the messages is open. */
async function readTexts(
  connection: ImapConnection,
  entries: Entries,
  depth: Depth,
  text: TextRequest,
): Promise<readonly (readonly [string, FetchedText])[]> {
  const uids = entries.map(({ message }) => message.ref.uid);
  const structures = depth === 'structure' ? structuresOf(entries) : null;
  const texts = await fetchTexts(connection, uids, text, structures);
  return entries.flatMap(({ message: { ref } }) => {
    const shown = texts.get(ref.uid);
    return shown === undefined ? [] : [[keyOf(ref), shown] as const];
  });
}

const structuresOf = (entries: Entries): Structures =>
  new Map(
    entries.flatMap(({ message, structure }) =>
      structure === undefined ? [] : [[message.ref.uid, structure] as const],
    ),
  );
