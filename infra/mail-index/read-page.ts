/** Runs the statements of a query: rows to messages, and the state of the copies they came from. */
import type { FetchedMessage, FolderRef, Keyset, MailQuery } from '../../commands/kernel/mail-port.ts';
import type { Sql } from '../../commands/kernel/ports.ts';
import type { FolderState } from './folder-mirror.ts';
import { isExactInSql, type PageAsk, pageStatement, countStatement, type Way } from './page-sql.ts';
import { wordPatterns } from './filter-sql.ts';
import { messageOfRow, type MessageRow } from './message-row.ts';
import { orderField } from '../../commands/kernel/message-order.ts';

/** Messages looked at in order before words are looked up in their own index, all folders together. */
const GLANCE = 2_048;
const LEAST_GLANCE = 256;

interface StateRow extends Record<string, unknown> {
  readonly folder_number: number;
  readonly uid_validity: string;
  readonly uid_next: string;
  readonly indexed: string;
  readonly highest_modseq: string | null;
  readonly feed_position: string | null;
  readonly usable: boolean;
  readonly vouched: boolean;
}
/** A folder's state beside one of its messages, or beside nulls. */
type PageRow = StateRow & (MessageRow | { readonly uid: null });

/** The copies cannot answer now: one is missing, not complete or not trusted. */
export class CopyNotReady extends Error {}

export class PageReader {
  readonly isExact: boolean;
  readonly #sql: Sql;
  readonly #mailboxNumber: number;
  readonly #query: MailQuery;
  readonly #folders: ReadonlyMap<number, FolderRef>;
  #states: readonly FolderState[] = [];

  constructor(sql: Sql, mailboxNumber: number, query: MailQuery) {
    this.#sql = sql;
    this.#mailboxNumber = mailboxNumber;
    this.#query = query;
    this.#folders = new Map(query.folders.map((folder) => [folder.number, folder]));
    this.isExact = isExactInSql(query.filter);
  }

  /** The copies as they were when the last page was read. */
  get states(): readonly FolderState[] {
    return this.#states;
  }

  /** At most `limit` candidates after the keyset, in order. Throws `CopyNotReady`. */
  async candidates(after: Keyset | null, limit: number): Promise<readonly FetchedMessage[]> {
    const ask = this.#ask({ after, limit });
    if (orderField(ask.order) !== 'received') return await this.#page(ask, { kind: 'sift' });
    if (!this.isExact || wordPatterns(ask.filter).length === 0)
      return await this.#page(ask, { kind: 'walk' });
    // Words that are common fill the page at once; rare ones are cheaper to look up than to come by.
    const most = Math.max(LEAST_GLANCE, Math.floor(GLANCE / this.#folders.size));
    const glanced = await this.#page(ask, { kind: 'glance', most });
    return glanced.length === limit ? glanced : await this.#page(ask, { kind: 'sift' });
  }

  /** Every candidate of these threads. */
  async threads(threadKeys: readonly string[]): Promise<readonly FetchedMessage[]> {
    return await this.#page(this.#ask({ after: null, limit: null, threadKeys }), { kind: 'sift' });
  }

  /** How many match an exact filter. Throws `CopyNotReady`. */
  async count(): Promise<number> {
    const { text, values } = countStatement(this.#ask({ after: null, limit: null }));
    const rows = await this.#sql.query<StateRow & { count: string | null }>(text, values);
    this.#note(rows);
    return rows.reduce((sum, { count }) => sum + Number(count ?? 0), 0);
  }

  #ask(fields: Pick<PageAsk, 'after' | 'limit'> & Partial<PageAsk>): PageAsk {
    const { filter, order, depth, countOnly } = this.#query;
    return {
      mailboxNumber: this.#mailboxNumber,
      folderNumbers: [...this.#folders.keys()],
      filter,
      order,
      threadKeys: null,
      withEnvelope: depth !== 'place' || countOnly || !this.isExact || needsEnvelope(order),
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
    const states = new Map(rows.map((row) => [row.folder_number, row]));
    if (states.size < this.#folders.size || ![...states.values()].every(({ usable }) => usable)) {
      throw new CopyNotReady();
    }
    const seen = [...states.values()].map(stateOf);
    const isAnother = this.#states.some(({ folderNumber, uidValidity }) =>
      seen.some((now) => now.folderNumber === folderNumber && now.uidValidity !== uidValidity),
    );
    // Pages of two lives of a folder do not make one answer.
    if (isAnother) throw new CopyNotReady();
    this.#states = seen;
  }
}

/** The keyset of these orders is text of the message itself. */
const needsEnvelope = (order: PageAsk['order']): boolean =>
  orderField(order) === 'subject' || orderField(order) === 'from';

const stateOf = (row: StateRow): FolderState => ({
  folderNumber: row.folder_number,
  uidValidity: Number(row.uid_validity),
  uidNext: Number(row.uid_next),
  messages: Number(row.indexed),
  highestModseq: row.highest_modseq === null ? null : BigInt(row.highest_modseq),
  feedPosition: row.feed_position === null ? null : BigInt(row.feed_position),
  vouched: row.vouched,
});
