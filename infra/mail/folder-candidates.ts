/** Candidates of one folder: the server's search, its answers to server-defined conditions, and the dates. */
import type { MessageStructureObject } from 'imapflow';
import type { Filter } from '../../commands/mail/mail-filter.ts';
import type { Keyset, MailQuery } from '../../commands/mail/query.ts';
import type { FetchedMessage, FolderRef } from '../../commands/mail/message.ts';
import { compareKeysets } from '../../commands/mail/query.ts';
import { leafName, matches, type ServerLeaf } from '../../commands/mail/matches.ts';
import { fetchEnvelopes } from './fetch-envelopes.ts';
import { type Depth, FETCH_ITEMS, isDeleted, toFetchedMessage } from './fetched-message.ts';
import type { ImapConnection, OpenFolder } from './imap-connection.ts';
import type { QueryPlan } from './query-plan.ts';
import type { ReceivedDates } from './received-dates.ts';
import { bothOf } from './search-narrowing.ts';
import { searchUids } from './search-uids.ts';
import { inPieces } from './uid-set.ts';

/** Scattered UIDs per FETCH; more would make long command lines. */
const UIDS_PER_FETCH = 500;

/** One folder of a query, while the query runs. */
export interface SearchedFolder {
  readonly folder: FolderRef;
  readonly uidValidity: number;
  readonly exists: number;
  /** UIDs the server found; null = any. */
  readonly found: ReadonlySet<number> | null;
  /** UIDs per server-defined condition, by `leafName`; absent = all that were found. */
  readonly answers: ReadonlyMap<string, ReadonlySet<number>>;
}

/**
 * Searches the open folder. `withoutDeleted` asks the server to exclude messages marked `\Deleted`; otherwise the caller
 * that fetches has to.
 */
export async function searchFolder(
  connection: ImapConnection,
  plan: QueryPlan,
  place: { readonly folder: FolderRef; readonly open: OpenFolder },
  withoutDeleted: boolean,
): Promise<SearchedFolder> {
  const { folder, open } = place;
  const query = withoutDeleted && plan.search ? bothOf(plan.search, { deleted: false }) : plan.search;
  const search = query ?? (withoutDeleted ? { deleted: false } : null);
  const found = search && open.exists > 0 ? new Set(await searchUids(connection, search)) : null;
  const answers = new Map<string, ReadonlySet<number>>();
  for (const leaf of plan.serverLeaves.filter((each) => !isTopLeaf(plan, each))) {
    const uids = open.exists > 0 ? await searchUids(connection, leafSearch(leaf)) : [];
    answers.set(leafName(leaf), new Set(uids));
  }
  return { folder, uidValidity: open.uidValidity, exists: open.exists, found, answers };
}

/** A condition at the top of the filter holds for every UID found. */
function isTopLeaf({ filter }: QueryPlan, leaf: ServerLeaf): boolean {
  if (leaf.key === 'body_contains') return filter.body_contains === leaf.value;
  const { header } = filter;
  return header?.name === leaf.value.name && header.contains === leaf.value.contains;
}

const leafSearch = (leaf: ServerLeaf) =>
  leaf.key === 'body_contains'
    ? { body: leaf.value }
    : { header: { [leaf.value.name]: leaf.value.contains } };

/** UIDs and dates that may match and come after the keyset, in received order. Lazy: a page takes only what it needs. */
export function* candidatesOf(
  searched: SearchedFolder,
  dates: ReceivedDates,
  plan: QueryPlan,
  { order, after }: Pick<MailQuery, 'order' | 'after'>,
): Generator<Keyset> {
  const { from, until } = plan.window;
  for (const { date: value, uid } of inOrder(dates, order.endsWith('_desc'))) {
    if (value < from || value >= until) continue;
    if (searched.found !== null && !searched.found.has(uid)) continue;
    const keyset = { value, folderNumber: searched.folder.number, uid };
    if (after === null || compareKeysets(order, keyset, after) > 0) yield keyset;
  }
}

function* inOrder(
  { uids, dates }: ReceivedDates,
  isDescending: boolean,
): Generator<{ date: number; uid: number }> {
  for (let step = 0; step < uids.length; step += 1) {
    const at = isDescending ? uids.length - 1 - step : step;
    yield { date: dates[at] ?? 0, uid: uids[at] ?? 0 };
  }
}

/** A message, and the structure of its body where the depth includes it. */
export interface FetchedEntry {
  readonly message: FetchedMessage;
  readonly structure: MessageStructureObject | undefined;
}

/** Fetches messages of the searched folder, which must be open; omits those that are gone or marked `\Deleted`. */
export async function fetchEntries(
  connection: ImapConnection,
  { folder, uidValidity }: Pick<SearchedFolder, 'folder' | 'uidValidity'>,
  uids: readonly number[],
  depth: Depth,
): Promise<readonly FetchedEntry[]> {
  const entries: FetchedEntry[] = [];
  for (const piece of inPieces(uids, UIDS_PER_FETCH)) {
    const fetched = await fetchEnvelopes(connection, piece, FETCH_ITEMS[depth]);
    for (const message of fetched) {
      if (!isDeleted(message)) {
        entries.push({
          message: toFetchedMessage(message, { folder, uidValidity }, connection.sharedFolders),
          structure: message.bodyStructure,
        });
      }
    }
  }
  return entries;
}

/** As `fetchEntries`, without the structures. */
export const fetchUids = async (
  ...asked: Parameters<typeof fetchEntries>
): Promise<readonly FetchedMessage[]> => (await fetchEntries(...asked)).map(({ message }) => message);

/** True when the whole filter matches, including the server's own answers. */
export function isHit(message: FetchedMessage, searched: SearchedFolder, filter: Filter): boolean {
  return matches(message, filter, {
    serverSays: (leaf, { ref }) => {
      const uids = searched.answers.get(leafName(leaf)) ?? searched.found;
      return uids?.has(ref.uid) ?? false;
    },
  });
}
