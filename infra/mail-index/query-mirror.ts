/** Answers a query from the mirror: SQL narrows and orders, the one `matches` decides (`contract.md` 4). */
import type { Keyset, MailQuery, MailQueryAnswer } from '../../commands/mail/query.ts';
import type { FetchedMessage } from '../../commands/mail/message.ts';
import { matches } from '../../commands/mail/matches.ts';
import { keysetOf } from '../../commands/mail/query.ts';
import { newestFirst, type Thread, threadsOf } from '../../commands/mail/threads.ts';
import { keyOfText } from './join-threads.ts';
import type { PageReader } from './read-page.ts';

/** Candidates read at once where they have to be checked: few at first, as most pages fill early. */
const FIRST_CHUNK = 64;
const LARGEST_CHUNK = 1_024;

/** One page, or a count. Throws `MirrorNotReady`, `MirrorChanged`. */
export async function queryIndex(reader: PageReader, query: MailQuery): Promise<MailQueryAnswer> {
  const nothing = { messages: [], next: null, count: null, evaluatedBy: 'gateway' } as const;
  if (query.folders.length === 0) return { ...nothing, count: query.countOnly ? 0 : null };
  if (query.countOnly) return { ...nothing, count: await countOf(reader, query) };
  if (query.byThread === true) return { ...nothing, ...(await threadPage(reader, query)) };
  return { ...nothing, ...(await messagePage(reader, query)) };
}

async function messagePage(
  reader: PageReader,
  query: MailQuery,
): Promise<Pick<MailQueryAnswer, 'messages' | 'next'>> {
  const hits: FetchedMessage[] = [];
  // One more than the page shows whether there is another page.
  const atOnce = reader.isExact ? query.limit + 1 : FIRST_CHUNK;
  for await (const found of hitsOf(reader, query, atOnce)) {
    hits.push(...found);
    if (hits.length > query.limit) break;
  }
  const messages = hits.slice(0, query.limit);
  const last = messages.at(-1);
  return {
    messages,
    next: last !== undefined && hits.length > query.limit ? keysetOf(last, query.order) : null,
  };
}

async function countOf(reader: PageReader, query: MailQuery): Promise<number> {
  if (reader.isExact) return await reader.count();
  let count = 0;
  for await (const hits of hitsOf(reader, query, FIRST_CHUNK)) count += hits.length;
  return count;
}

/** The matches after the query's keyset, in order, piece by piece. */
async function* hitsOf(
  reader: PageReader,
  query: MailQuery,
  atOnce: number,
): AsyncGenerator<readonly FetchedMessage[]> {
  let { after } = query;
  for (let limit = atOnce; ; limit = Math.min(limit * 2, LARGEST_CHUNK)) {
    const candidates = await reader.candidates(after, limit);
    yield checked(reader, query, candidates);
    const last = candidates.at(-1);
    if (last === undefined || candidates.length < limit) return;
    after = keysetOf(last, query.order);
  }
}

function checked(
  { isExact }: PageReader,
  { filter }: MailQuery,
  candidates: readonly FetchedMessage[],
): readonly FetchedMessage[] {
  // Server-defined conditions never come here.
  const context = { serverSays: () => false };
  return isExact ? candidates : candidates.filter((message) => matches(message, filter, context));
}

/** Threads in the order of their first match. A match that is not its thread's first was returned earlier. */
async function threadPage(
  reader: PageReader,
  query: MailQuery,
): Promise<Pick<MailQueryAnswer, 'threads' | 'next'>> {
  const found: Thread[] = [];
  for await (const hits of hitsOf(reader, query, query.limit + 1)) {
    const places = new Set(hits.map((hit) => keyOf(keysetOf(hit, query.order))));
    const threads = threadsOf(await withTheirThreads(reader, query, hits), query.order);
    found.push(...threads.filter(({ first }) => places.has(keyOf(first))));
    if (found.length > query.limit) break;
  }
  const page = found.slice(0, query.limit);
  const next = found.length > query.limit ? (page.at(-1)?.first ?? null) : null;
  return { threads: page.map(({ messages }) => newestFirst(messages)), next };
}

const keyOf = ({ folderNumber, uid }: Keyset): string => `${String(folderNumber)}/${String(uid)}`;

/** The hits and every other match of their threads. */
async function withTheirThreads(
  reader: PageReader,
  query: MailQuery,
  hits: readonly FetchedMessage[],
): Promise<readonly FetchedMessage[]> {
  const ids = new Set(hits.flatMap(({ threadId }) => threadId ?? []));
  const members = ids.size === 0 ? [] : checked(reader, query, await reader.threads([...ids].map(keyOfText)));
  return [...members, ...hits.filter(({ threadId }) => threadId === undefined)];
}
