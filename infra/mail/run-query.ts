/** Answers a query live: the server narrows, the one `matches` decides (`contract.md` 4). */
import type { Keyset, MailQuery, MailQueryAnswer } from '../../commands/mail/query.ts';
import type { FetchedMessage } from '../../commands/mail/message.ts';
import { compareKeysets, keysetOf, orderField } from '../../commands/mail/query.ts';
import { newestFirst, threadsOf } from '../../commands/mail/threads.ts';
import { deeper, type Depth } from './fetched-message.ts';
import { candidatesOf } from './folder-candidates.ts';
import { placeKey, placeOf, type QueryDeps, QueryFolders, type Searched, tooWide } from './query-folders.ts';
import { planQuery } from './query-plan.ts';
import { isRefusedSearch } from './search-uids.ts';

/** Messages fetched at once to be checked: few at first, as most pages fill early. */
const FIRST_CHUNK = 64;
const LARGEST_CHUNK = 512;

/** One page, or a count. Throws `filter_unsupported` where the limits of a mailbox without index are reached. */
export async function runQuery(deps: QueryDeps, query: MailQuery): Promise<MailQueryAnswer> {
  const plan = planQuery(query.filter);
  try {
    return await answer(new QueryFolders(deps, query, plan));
  } catch (error) {
    // A condition that only narrows may be omitted where a server does not understand it; old ones know no parentheses.
    if (plan.search === null || plan.serverLeaves.length > 0 || !isRefusedSearch(error)) throw error;
    return await answer(new QueryFolders(deps, query, { ...plan, search: null, isExact: false }));
  }
}

async function answer(folders: QueryFolders): Promise<MailQueryAnswer> {
  const { query, plan } = folders;
  const evaluatedBy = plan.serverLeaves.length > 0 ? 'mail_server' : 'gateway';
  if (query.countOnly) return { messages: [], next: null, count: await countHits(folders), evaluatedBy };
  if (query.byThread === true)
    return { ...(await threadPage(folders)), messages: [], count: null, evaluatedBy };
  const page =
    orderField(query.order) === 'received' ? await receivedPage(folders) : await sortedPage(folders);
  return { ...page, count: null, evaluatedBy };
}

type Page = Pick<MailQueryAnswer, 'messages' | 'next'>;

/** Newest or oldest first: reads only as far into the folders as the page needs. */
async function receivedPage(folders: QueryFolders): Promise<Page> {
  const { query, plan } = folders;
  const candidates = merged(folders, await folders.search({ dates: true, withoutDeleted: false }));
  const fetchDepth = plan.isExact ? deeper(query.depth, plan.depth) : plan.depth;
  const hits: FetchedMessage[] = [];
  let chunk = Math.max(FIRST_CHUNK, query.limit + 1);
  // One more message than the page shows whether there is another page.
  while (hits.length <= query.limit) {
    const wanted = plan.isExact ? query.limit + 1 - hits.length : Math.min(chunk, folders.evaluationsLeft);
    const places = take(candidates, wanted);
    if (places.length === 0) break;
    hits.push(...(await folders.hits(places, fetchDepth)));
    chunk = Math.min(chunk * 2, LARGEST_CHUNK);
  }
  const isCutOff =
    hits.length <= query.limit && folders.evaluationsLeft <= 0 && take(candidates, 1).length > 0;
  // A page that could not be filled must not look like the end.
  if (isCutOff && hits.length < query.limit) throw tooWide(folders.maxEvaluated);
  return await pageOf(folders, hits, fetchDepth, isCutOff);
}

/** Orders that depend on the messages themselves: all hits are fetched. */
async function sortedPage(folders: QueryFolders): Promise<Page> {
  const { query, plan } = folders;
  const searched = await folders.search({ dates: false, withoutDeleted: true });
  const depth = deeper(plan.depth, orderField(query.order) === 'size' ? 'place' : 'envelope');
  const hits = await allHits(folders, searched, depth);
  const rest = hits
    .map((message) => ({ message, keyset: keysetOf(message, query.order) }))
    .filter(({ keyset }) => query.after === null || compareKeysets(query.order, keyset, query.after) > 0)
    .toSorted((a, b) => compareKeysets(query.order, a.keyset, b.keyset));
  return await pageOf(
    folders,
    rest.slice(0, query.limit + 1).map(({ message }) => message),
    depth,
    false,
  );
}

/** Only all hits together show which messages make a thread. */
async function threadPage(folders: QueryFolders): Promise<Pick<MailQueryAnswer, 'threads' | 'next'>> {
  const { query, plan } = folders;
  const searched = await folders.search({ dates: false, withoutDeleted: true });
  const depth = deeper(plan.depth, 'envelope');
  const hits = await allHits(folders, searched, depth);
  const { after, limit, order } = query;
  const rest = threadsOf(hits, order).filter(
    ({ first }) => after === null || compareKeysets(order, first, after) > 0,
  );
  const page = rest
    .slice(0, limit)
    .map(({ first, messages }) => ({ first, messages: newestFirst(messages) }));
  // Only the newest message of each thread is returned with more than its place.
  const shown = await folders.complete(
    page.flatMap(({ messages }) => messages[0] ?? []),
    depth,
  );
  const whole = new Map(shown.map((message) => [placeKey(placeOf(message)), message]));
  const threads = page.map(({ messages }) =>
    messages.map((message) => whole.get(placeKey(placeOf(message))) ?? message),
  );
  return { threads, next: rest.length > limit ? (page.at(-1)?.first ?? null) : null };
}

async function pageOf(
  folders: QueryFolders,
  hits: readonly FetchedMessage[],
  depth: Depth,
  isCutOff: boolean,
): Promise<Page> {
  const { limit, order } = folders.query;
  const page = hits.slice(0, limit);
  const last = page.at(-1);
  const next = last !== undefined && (hits.length > limit || isCutOff) ? keysetOf(last, order) : null;
  return { messages: await folders.complete(page, depth), next };
}

async function countHits(folders: QueryFolders): Promise<number> {
  const { plan } = folders;
  const isBounded = Number.isFinite(plan.window.from) || Number.isFinite(plan.window.until);
  const searched = await folders.search({ dates: plan.isExact && isBounded, withoutDeleted: true });
  if (!plan.isExact) return (await allHits(folders, searched, plan.depth)).length;
  const counts = searched.map((folder) =>
    isBounded ? countCandidates(folders, folder) : (folder.searched.found?.size ?? 0),
  );
  return counts.reduce((sum, count) => sum + count, 0);
}

function countCandidates(folders: QueryFolders, { searched, dates }: Searched): number {
  if (dates === null) return 0;
  const everything = { order: 'received_asc', after: null } as const;
  return [...candidatesOf(searched, dates, folders.plan, everything)].length;
}

async function allHits(
  folders: QueryFolders,
  searched: readonly Searched[],
  depth: Depth,
): Promise<readonly FetchedMessage[]> {
  const places = searched.flatMap(({ searched: { folder, found } }) =>
    [...(found ?? [])].map((uid) => ({ folderNumber: folder.number, uid })),
  );
  if (places.length > folders.maxEvaluated) throw tooWide(folders.maxEvaluated);
  return await folders.hits(places, depth);
}

/** The candidates of all folders in one order. */
function* merged(folders: QueryFolders, searched: readonly Searched[]): Generator<Keyset> {
  const { query, plan } = folders;
  const heads: { keyset: Keyset; rest: Iterator<Keyset> }[] = [];
  for (const { searched: folder, dates } of searched) {
    if (dates === null) continue;
    const rest = candidatesOf(folder, dates, plan, query);
    const first = rest.next();
    if (first.done !== true) heads.push({ keyset: first.value, rest });
  }
  while (heads.length > 0) {
    const best = heads.reduce((a, b) => (compareKeysets(query.order, a.keyset, b.keyset) <= 0 ? a : b));
    yield best.keyset;
    const following = best.rest.next();
    if (following.done === true) heads.splice(heads.indexOf(best), 1);
    else best.keyset = following.value;
  }
}

function take(source: Iterator<Keyset>, count: number): readonly Keyset[] {
  const taken: Keyset[] = [];
  while (taken.length < count) {
    const item = source.next();
    if (item.done === true) break;
    taken.push(item.value);
  }
  return taken;
}
