/** Fetches messages by place, in any folder. */
import type { FetchedMessage, FetchedText, MessageRef } from '../../commands/mail/message.ts';
import { GatewayError } from '../../commands/values/errors.ts';
import type { Depth } from './fetched-message.ts';
import { fetchEntries, type FetchedEntry } from './folder-candidates.ts';
import type { ImapConnection } from './imap-connection.ts';
import { fetchTexts, type Structures, type TextRequest } from './message-text.ts';
import { openListed } from './open-folder.ts';

export interface PlacesRequest {
  readonly depth: Depth;
  /** Null = without text. */
  readonly text: TextRequest | null;
  /** Adds the threads to the messages, in their order. It runs while the last texts are fetched. */
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
  let threaded: readonly FetchedMessage[] = found;
  for (const [at, group] of groups.entries()) {
    const entries = await fetchGroup(connection, group, depth);
    found.push(...entries.map(({ message }) => message));
    const reading = text === null ? null : readTexts(connection, entries, { depth, text, into: texts });
    if (at < groups.length - 1) await reading;
    else [threaded] = await Promise.all([withThreads(found), reading]);
  }
  const byPlace = new Map(threaded.map((message) => [keyOf(message.ref), message]));
  return refs.map((ref) => {
    const message = byPlace.get(keyOf(ref));
    const shown = texts.get(keyOf(ref));
    if (message === undefined) return null;
    return shown === undefined ? message : { ...message, text: shown };
  });
}

type Entries = readonly FetchedEntry[];

const NONE: Entries = [];

/** Of one folder, which stays open. */
async function fetchGroup(
  connection: ImapConnection,
  group: readonly MessageRef[],
  depth: Depth,
): Promise<Entries> {
  const [first] = group;
  if (first === undefined) return NONE;
  const known = await fetchAsOpen(connection, group, depth);
  if (known !== null) return known;
  const open = await openListed(connection, first.folder, 'read');
  return open === null ? NONE : await fetchIn(connection, group, { depth, uidValidity: open.uidValidity });
}

/**
 * Without a command that only brings the open folder up to date: a server reports at the end of a FETCH what changed, as at
 * the end of NOOP (RFC 9051 7). Null where that does not tell what became of each message.
 */
async function fetchAsOpen(
  connection: ImapConnection,
  group: readonly MessageRef[],
  depth: Depth,
): Promise<Entries | null> {
  const [first] = group;
  const open = first && first.folder.isMissing !== true ? connection.openAsSeen(first.folder.path) : null;
  if (open === null || group.some(({ uidValidity }) => uidValidity !== open.uidValidity)) return null;
  const { removals } = connection;
  // A server may refuse to answer for messages that it has not reported as gone yet (EXPUNGEISSUED, RFC 5530).
  const entries = await fetchIn(connection, group, { depth, uidValidity: open.uidValidity }).catch(
    (error: unknown) => {
      if (error instanceof GatewayError && error.code === 'provider_rejected') return NONE;
      throw error;
    },
  );
  return entries.length === group.length && connection.removals === removals ? entries : null;
}

const fetchIn = (
  connection: ImapConnection,
  group: readonly MessageRef[],
  { depth, uidValidity }: { readonly depth: Depth; readonly uidValidity: number },
): Promise<Entries> => {
  const asked = group.filter((ref) => ref.uidValidity === uidValidity);
  const [first] = asked;
  if (first === undefined) return Promise.resolve(NONE);
  const uids = asked.map(({ uid }) => uid);
  return fetchEntries(connection, { folder: first.folder, uidValidity }, uids, depth);
};

interface TextsRequest {
  readonly depth: Depth;
  readonly text: TextRequest;
  readonly into: Map<string, FetchedText>;
}

/** The folder of the messages is open. */
async function readTexts(
  connection: ImapConnection,
  entries: Entries,
  { depth, text, into }: TextsRequest,
): Promise<void> {
  const uids = entries.map(({ message }) => message.ref.uid);
  const structures = depth === 'structure' ? structuresOf(entries) : null;
  const texts = await fetchTexts(connection, uids, text, structures);
  for (const { message } of entries) {
    const found = texts.get(message.ref.uid);
    if (found !== undefined) into.set(keyOf(message.ref), found);
  }
}

const structuresOf = (entries: Entries): Structures =>
  new Map(
    entries.flatMap(({ message, structure }) =>
      structure === undefined ? [] : [[message.ref.uid, structure] as const],
    ),
  );
