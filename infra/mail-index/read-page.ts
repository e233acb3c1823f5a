/** Runs the statements of a query: rows to messages, and the state of the mirrors they came from. */
import type { Keyset, MailQuery } from '../../commands/mail/query.ts';
import type { FetchedMessage, FolderRef } from '../../commands/mail/message.ts';
import type { Sql } from '../../commands/ports/ports.ts';
import { leafKeys } from '../../commands/mail/matches.ts';
import { threadIdsOf } from '../../commands/mail/threads.ts';
import type { FolderState, WholeMailbox } from './folder-mirror.ts';
import { countStatement, isExactInSql, pageStatement } from './page-sql.ts';
import { type StateRow, statesOf } from './folder-mirror.ts';
import { wordPatterns } from './filter-sql.ts';
import { isTextOrder, type PageAsk, type Way } from './page-ask.ts';
import { messageOfRow, type MessageRow } from './message-row.ts';

/** Messages read in order before words are looked up in their own index, all folders together. */
const GLANCE = 2_048;
const LEAST_GLANCE = 256;

/** A mirror changed between the reads of one answer: the results do not belong together. */
export class MirrorChanged extends Error {}

/** A folder's state beside one of its messages, or beside nulls. */
type PageRow = StateRow & (MessageRow | { readonly uid: null });

export class PageReader {
  readonly isExact: boolean;
  readonly #sql: Sql;
  readonly #mailbox: WholeMailbox;
  readonly #query: MailQuery;
  readonly #folders: ReadonlyMap<number, FolderRef>;
  #threadsVersion: string | null;
  #states: readonly FolderState[] = [];

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

  /** At most `limit` candidates after the keyset, in order. Throws `MirrorNotReady`, `MirrorChanged`. */
  async candidates(after: Keyset | null, limit: number): Promise<readonly FetchedMessage[]> {
    const ask = this.#ask({ after, limit });
    // A key finds few messages: sorting them is cheaper than walking to them.
    if (!this.isExact || threadIdsOf(ask.filter).length > 0) return await this.#page(ask, { kind: 'sift' });
    const mayBeRare =
      wordPatterns(ask.filter).length > 0 || (isTextOrder(ask.order) && leafKeys(ask.filter).length > 0);
    if (!mayBeRare) return await this.#page(ask, { kind: 'walk' });
    // Common words fill the page at once; rare ones are cheaper to look up than to reach by walking.
    const most = Math.max(LEAST_GLANCE, Math.floor(GLANCE / this.#folders.size));
    const glanced = await this.#page(ask, { kind: 'glance', most });
    return glanced.length === limit ? glanced : await this.#page(ask, { kind: 'sift' });
  }

  /** Every candidate of the threads that have one of these names. Throws `MirrorNotReady`, `MirrorChanged`. */
  async threads(threadKeys: readonly string[]): Promise<readonly FetchedMessage[]> {
    return await this.#page(this.#ask({ after: null, limit: null, threadKeys }), { kind: 'sift' });
  }

  /** The number of matches of an exact filter. Throws `MirrorNotReady`. */
  async count(): Promise<number> {
    const { text, values } = countStatement(this.#ask({ after: null, limit: null }));
    const rows = await this.#sql.query<StateRow & { count: string | null }>(text, values);
    this.#note(rows);
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
      withEnvelope: depth !== 'place' || countOnly || !this.isExact || isTextOrder(order),
      ...fields,
    };
  }

  async #page(ask: PageAsk, way: Way): Promise<readonly FetchedMessage[]> {
    const { text, values } = pageStatement(ask, way);
    const rows = await this.#sql.query<PageRow>(text, values);
    this.#note(rows);
    return rows.flatMap((row) => {
      const folder = this.#folders.get(row.folder_number);
      return row.uid === null || folder === undefined ? [] : [messageOfRow(row, folder)];
    });
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
