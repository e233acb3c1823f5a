/** Answers a query from the mirror: SQL narrows and orders, the one `matches` decides (`contract.md` 4). */
import {
  type Keyset,
  keysetOf,
  type MailQuery,
  type MailQueryAnswer,
  orderField,
} from '../../commands/mail/query.ts';
import type { FetchedMessage, FolderRef } from '../../commands/mail/message.ts';
import { leafKeys, matches } from '../../commands/mail/matches.ts';
import { newestFirst, type Thread, threadIdsOf, threadsOf } from '../../commands/mail/threads.ts';
import { keyOfText } from './threads.ts';
import type { Sql } from '../../commands/ports/ports.ts';
import { countStatement, type CountRow, isExactInSql, type PageRow, pageStatement } from './page-sql.ts';
import { NamedShapes } from '../postgres/named-shapes.ts';
import { type FolderState, type StateRow, statesOf, type WholeMailbox } from './folder-mirror.ts';
import { wordPatterns } from './filter-sql.ts';
import { canProbe, GLANCED, PROMISING } from './probe-sql.ts';
import { isTextOrder, type PageAsk, type Way } from './walk-sql.ts';
import { messageOfRow } from './message-row.ts';

/** Messages of the order in which words are looked for before their own index is asked: first few, then more. */
const GLANCES = [GLANCED, 2_048];
/** As many messages of each folder are read for that, and merged: where they would be more than this, none are. */
const MOST_MERGED = 8_192;

/** The values are parameters, so the texts are as many as there are orders, filters and limits in use. */
const WALKS = new NamedShapes('page');
/** The limits of named pages, so that there are few texts: one more than pages usually have. */
const LIMITS = [2, 11, 26, 51, 101, 201];
/** Filters for which one plan is as good as a plan for their values. */
const PLANNED_ALIKE: ReadonlySet<string> = new Set([
  ...['seen', 'flagged', 'answered', 'draft', 'has_attachment', 'subject_contains', 'from_contains'],
  ...['to_contains', 'cc_contains', 'any_address', 'from_domain', 'attachment_name_contains'],
]);
const TIMES: ReadonlySet<string> = new Set(['received_after', 'received_before']);
const SIFT: Way = { kind: 'sift' };

/**
 * A walk down the index of one folder, until the page is full. A range of another column than the order's may be so rare
 * that Postgres has to know it; what is sifted is planned for its words.
 */
const isPlannedAlike = ({ folderNumbers, filter, order }: PageAsk, { kind }: Way): boolean =>
  kind !== 'sift' &&
  folderNumbers.length === 1 &&
  Object.keys(filter).every(
    (key) => PLANNED_ALIKE.has(key) || (TIMES.has(key) && orderField(order) === 'received'),
  );

/** A mirror changed between the reads of one answer: the results do not belong together. */
export class MirrorChanged extends Error {}

/** `isComplete`: of a probe, whether it was enough. */
interface Candidates {
  readonly found: readonly FetchedMessage[];
  readonly isComplete: boolean | null;
}

export class PageReader {
  readonly isExact: boolean;
  readonly #sql: Sql;
  readonly #mailbox: WholeMailbox;
  readonly #query: MailQuery;
  readonly #folders: ReadonlyMap<number, FolderRef>;
  #threadsVersion: string | null;
  #states: readonly FolderState[] = [];
  #contacts: Map<FetchedMessage, boolean> | null = new Map();

  /** `threadsVersion` identifies the threads that the query's thread ids were read from; null = it has none. */
  constructor(sql: Sql, mailbox: WholeMailbox, query: MailQuery, threadsVersion: string | null) {
    this.#sql = sql;
    this.#mailbox = mailbox;
    this.#threadsVersion = threadsVersion;
    this.#query = query;
    this.#folders = new Map(query.folders.map((folder) => [folder.number, folder]));
    this.isExact = isExactInSql(query.filter);
  }

  /** Null while threads are unknown. */
  get threadsVersion(): string | null {
    return this.#threadsVersion;
  }

  /** The mirrors as they were when every page was read. */
  get states(): readonly FolderState[] {
    return this.#states;
  }

  /** As `MailQueryAnswer.firstContacts`, of all messages that were read. */
  get firstContacts(): Pick<MailQueryAnswer, 'firstContacts'> {
    return this.#contactsIn === null ? {} : { firstContacts: this.#contacts };
  }

  /** Where candidates are checked, most are not shown: then the caller asks for those that are. */
  get #contactsIn(): readonly number[] | null {
    const { contactsIn, depth, textChars, byThread } = this.#query;
    // Messages with texts are fetched anew.
    const isShown = this.isExact && depth !== 'place' && textChars === null && byThread !== true;
    return isShown && contactsIn !== undefined ? contactsIn : null;
  }

  /** At most `limit` candidates after the keyset, in order. Throws `MirrorNotReady`, `MirrorChanged`. */
  async candidates(after: Keyset | null, limit: number): Promise<readonly FetchedMessage[]> {
    const ask = this.#ask({ after, limit, contactsIn: this.#contactsIn });
    // A key finds few messages: sorting them is cheaper than walking to them.
    if (!this.isExact || threadIdsOf(ask.filter).length > 0) return (await this.#page(ask, SIFT)).found;
    const mayBeRare =
      wordPatterns(ask.filter).length > 0 || (isTextOrder(ask.order) && leafKeys(ask.filter).length > 0);
    if (!mayBeRare) return (await this.#page(ask, { kind: 'walk' })).found;
    return (await this.#glanced(ask, limit)) ?? (await this.#page(ask, SIFT)).found;
  }

  /** Common words fill the page at once; null for rare ones, which are cheaper to look up than to reach by walking. */
  async #glanced(ask: PageAsk, limit: number): Promise<readonly FetchedMessage[] | null> {
    const glances = GLANCES.filter((most) => most * this.#folders.size <= MOST_MERGED);
    for (const [at, most] of glances.entries()) {
      const way: Way = at === 0 && canProbe(ask) ? { kind: 'probe' } : { kind: 'glance', most };
      const { found, isComplete } = await this.#page(ask, way);
      if (found.length === limit || isComplete === true) return found;
      const expected = (found.length * (glances[at + 1] ?? 0)) / most;
      // Many messages have the words, although few of the first ones do.
      if (isComplete === null && expected < limit * PROMISING) return null;
    }
    return null;
  }

  /** Every candidate of the threads that have one of these names. Throws `MirrorNotReady`, `MirrorChanged`. */
  async threads(threadKeys: readonly string[]): Promise<readonly FetchedMessage[]> {
    return (await this.#page(this.#ask({ after: null, limit: null, threadKeys }), SIFT)).found;
  }

  /** The number of matches of an exact filter. Throws `MirrorNotReady`. */
  async count(): Promise<number> {
    const { text, values } = countStatement(this.#ask({ after: null, limit: null }));
    const rows = await this.#sql.query<CountRow>(text, values);
    this.#note(rows.filter((row) => row.folder_number !== null));
    return rows.reduce((sum, { count }) => sum + Number(count ?? 0), 0);
  }

  #ask(fields: Pick<PageAsk, 'after' | 'limit'> & Partial<PageAsk>): PageAsk {
    const { filter, order, depth, countOnly } = this.#query;
    return {
      mailbox: this.#mailbox,
      folderNumbers: [...this.#folders.keys()],
      filter,
      order,
      threadKeys: null,
      contactsIn: null,
      withEnvelope: depth !== 'place' || countOnly || !this.isExact || isTextOrder(order),
      ...fields,
    };
  }

  async #page(ask: PageAsk, way: Way): Promise<Candidates> {
    const rows = await this.#rows(ask, way);
    this.#note(rows.filter((row) => row.folder_number !== null));
    const states = new Map(this.#states.map((state) => [state.folderNumber, state]));
    const messages = rows.flatMap((row) => {
      if (row.folder_number !== null) return [];
      const folder = this.#folders.get(row.found_in);
      const state = states.get(row.found_in);
      if (folder === undefined || state === undefined) return [];
      const message = messageOfRow(row, folder, state);
      if (ask.contactsIn !== null) this.#noteContact(message, row.sender_is_known);
      return message;
    });
    return {
      found: messages.slice(0, ask.limit ?? messages.length),
      isComplete: rows[0]?.is_complete ?? null,
    };
  }

  async #rows(ask: PageAsk, way: Way): Promise<readonly PageRow[]> {
    if (!isPlannedAlike(ask, way)) {
      const { text, values } = pageStatement(ask, way);
      return await this.#sql.query<PageRow>(text, values);
    }
    const limit = LIMITS.find((each) => each >= (ask.limit ?? Infinity)) ?? ask.limit;
    const { text, values } = pageStatement({ ...ask, limit, full: ask.limit }, way);
    return await this.#sql.query<PageRow>(WALKS.named(text), values);
  }

  #noteContact(message: FetchedMessage, isKnown: boolean | null): void {
    if (isKnown === null) this.#contacts = null;
    else if (message.from.length > 0) this.#contacts?.set(message, !isKnown);
  }

  #note(rows: readonly StateRow[]): void {
    const states = statesOf(rows, this.#folders.size);
    for (const before of this.#states) {
      const now = states.find(({ folderNumber }) => folderNumber === before.folderNumber);
      if (now?.version !== before.version) throw new MirrorChanged();
    }
    this.#states = states;
    const { threadsVersion = null } = states[0] ?? {};
    if (this.#threadsVersion !== null && threadsVersion !== this.#threadsVersion) throw new MirrorChanged();
    this.#threadsVersion = threadsVersion;
  }
}

/** Candidates read at once where they have to be checked: few at first, as most pages fill early. */
const FIRST_CHUNK = 64;
const LARGEST_CHUNK = 1_024;

/** One page, or a count. Throws `MirrorNotReady`, `MirrorChanged`. */
export async function queryIndex(reader: PageReader, query: MailQuery): Promise<MailQueryAnswer> {
  const nothing = { messages: [], next: null, count: null, evaluatedBy: 'gateway' } as const;
  if (query.folders.length === 0) return { ...nothing, count: query.countOnly ? 0 : null };
  if (query.countOnly) return { ...nothing, count: await countOf(reader, query) };
  if (query.byThread === true) return { ...nothing, ...(await threadPage(reader, query)) };
  return { ...nothing, ...(await messagePage(reader, query)), ...reader.firstContacts };
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
