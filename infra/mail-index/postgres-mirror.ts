/** The `MailIndex` on schema `mirror`. */
import type { MailQuery } from '../../commands/mail/query.ts';
import type { Locators, Sql } from '../../commands/ports/ports.ts';
import { threadIdsOf, withThreadIds } from '../../commands/mail/threads.ts';
import {
  type Attestation,
  type Fence,
  FencedOff,
  type FolderKey,
  type FolderMirror,
  type FolderUpdate,
  type IndexAnswer,
  type IndexProgress,
  type MailIndex,
  MIRRORED_FLAGS,
  type MirroredMessage,
  MirrorNotReady,
  type MovedMessages,
  type ThreadsAsked,
  type ThreadsNow,
  type WholeMailbox,
} from './folder-mirror.ts';
import { foldersBeside } from './folders-beside.ts';
import { moveMessages } from './move-messages.ts';
import { MirrorChanged, PageReader, queryIndex } from './read-page.ts';
import { threadsNow } from './threads.ts';
import { nameSome, removeAll, writeFolder } from './write-folder.ts';
import { UnchangedPages, versionOfPage } from './unchanged-pages.ts';

/** Held to the end of the transaction: no process takes the mailbox while the holder writes. */
const HOLDS = {
  name: 'mailbox_lease_hold',
  text: 'select 1 from work.mailbox_lease where mailbox_id = $1 and fence = $2 for share',
};

/** Only while the lease is held, as `HOLDS`. Not flushed, unlike updates: after a crash of the database the next round attests again. */
const ATTEST = {
  name: 'mirror_attest',
  text: `
    with held as materialized (select from work.mailbox_lease where mailbox_id = $4 and fence = $5 for share),
    attested as (
      update mirror.folder set vouched_until = now() + $3 * interval '1 millisecond', vouched_by = $4,
        vouched_fence = $5, vouched_life = $6
      from set_config('synchronous_commit', 'off', true)
      where mailbox_number = $1 and folder_number = $2 and exists (select from held))
    select exists (select from held) as is_held`,
};

const INVALIDATED = {
  name: 'mirror_invalidated',
  text: 'select folder_number from mirror.folder where mailbox_number = $1 and trusted <> distrusts',
};

const FOLDER = {
  name: 'mirror_folder',
  text: `
    select uid_validity, uid_next, indexed_from, highest_modseq, total, checked_at, feed_position, distrusts
    from mirror.folder where mailbox_number = $1 and folder_number = $2`,
};

/** All data of a mailbox. */
const TABLES = [
  'mirror.folder',
  'mirror.message',
  'mirror.message_text',
  'mirror.departed_message',
  'mirror.thread_name',
  'mirror.thread',
  'mirror.thread_version',
] as const;

/** An answer of several statements is read again when a mirror changed between them; if it keeps changing, the query runs live. */
const MOST_READS = 3;

/** The threads of a query without thread ids. */
const NO_THREADS: { readonly version: string | null; readonly ids: ThreadsNow['ids'] } = {
  version: null,
  ids: new Map(),
};

interface FolderRow extends Record<string, unknown> {
  readonly uid_validity: string;
  readonly uid_next: string;
  readonly indexed_from: string;
  readonly highest_modseq: string | null;
  readonly total: string;
  readonly checked_at: Date;
  readonly feed_position: string | null;
  readonly distrusts: string;
}

export interface FlagsRow extends Record<string, unknown> {
  readonly uid: string;
  readonly flags: readonly boolean[];
  readonly keywords: readonly string[] | null;
}

const FLAGS = {
  name: 'mirror_flags',
  text: `
    select uid, array[seen, flagged, answered, draft, deleted] as flags, keywords from mirror.message
    where mailbox_number = $1 and folder_number = $2 and uid between $3 and $4 order by uid`,
};

/** The tables that have grown by more than a tenth, and 20 pages, since the planner last knew their size. */
const GROWN = `
  select c.oid::regclass::text as name from pg_class c
  where c.relnamespace = 'mirror'::regnamespace and c.relkind = 'r'
    and pg_relation_size(c.oid) / current_setting('block_size')::int > 1.1 * c.relpages + 20`;

/** Who holds the table analyzes it too, or holds it for long (VACUUM, a new index). */
const SHORT_WAIT = "set local lock_timeout = '1s'";

export class PostgresMailIndex implements MailIndex {
  readonly #sql: Sql;
  readonly #locators: Pick<Locators, 'thread'>;
  readonly #unchanged: UnchangedPages;

  constructor(sql: Sql, locators: Pick<Locators, 'thread'>) {
    this.#sql = sql;
    this.#locators = locators;
    this.#unchanged = new UnchangedPages(sql);
  }

  async folder({ mailboxNumber, folderNumber }: FolderKey): Promise<FolderMirror | null> {
    const [row] = await this.#sql.query<FolderRow>(FOLDER, [mailboxNumber, folderNumber]);
    return row === undefined ? null : mirrorOf(row);
  }

  async flagsOf(
    { mailboxNumber, folderNumber }: FolderKey,
    fromUid: number,
    toUid: number,
  ): Promise<ReadonlyMap<number, readonly string[]>> {
    const rows = await this.#sql.query<FlagsRow>(FLAGS, [mailboxNumber, folderNumber, fromUid, toUid]);
    return new Map(rows.map((row) => [Number(row.uid), flagsOfRow(row)]));
  }

  foldersBeside(
    key: FolderKey,
    uids: readonly number[],
    added: readonly MirroredMessage[],
  ): Promise<ReadonlyMap<number, readonly number[]>> {
    return foldersBeside(this.#sql, key, uids, added);
  }

  async apply(mailboxId: string, fence: Fence, update: FolderUpdate): Promise<void> {
    await this.#fenced(mailboxId, fence, async (sql) => {
      await writeFolder(sql, update, (root) => this.#locators.thread(update.mailboxNumber, root));
    });
  }

  move(mailboxId: string, fence: Fence, moved: MovedMessages): Promise<void> {
    return moveMessages(this.#sql, mailboxId, fence, moved);
  }

  async attest(
    mailboxId: string,
    fence: Fence,
    { mailboxNumber, folderNumber }: FolderKey,
    { forMs, life }: Attestation,
  ): Promise<void> {
    const values = [mailboxNumber, folderNumber, forMs, mailboxId, fence, life];
    const [row] = await this.#sql.query<{ is_held: boolean }>(ATTEST, values);
    if (row?.is_held !== true) throw new FencedOff(mailboxId);
  }

  async forget(mailboxId: string, fence: Fence, keys: readonly FolderKey[]): Promise<void> {
    await this.#fenced(mailboxId, fence, async (sql) => {
      for (const key of keys) {
        await removeAll(sql, key);
        await sql.query('delete from mirror.folder where mailbox_number = $1 and folder_number = $2', [
          key.mailboxNumber,
          key.folderNumber,
        ]);
      }
    });
  }

  async invalidate(keys: readonly FolderKey[]): Promise<void> {
    if (keys.length === 0) return;
    await this.#sql.query(
      // Not flushed: should a crash of the database lose it, mail server and worker still report the change.
      `update mirror.folder as f set distrusts = distrusts + 1
       from unnest($1::int[], $2::int[]) as k (mailbox, folder), set_config('synchronous_commit', 'off', true)
       where f.mailbox_number = k.mailbox and f.folder_number = k.folder`,
      [keys.map(({ mailboxNumber }) => mailboxNumber), keys.map(({ folderNumber }) => folderNumber)],
    );
  }

  async invalidated(mailboxNumber: number): Promise<readonly number[]> {
    const rows = await this.#sql.query<{ folder_number: number }>(INVALIDATED, [mailboxNumber]);
    return rows.map(({ folder_number }) => folder_number);
  }

  async progress(mailboxNumber: number, folderNumber?: number): Promise<IndexProgress> {
    const [row] = await this.#sql.query<{ indexed: string; total: string }>(
      `select coalesce(sum(indexed), 0) as indexed, coalesce(sum(greatest(total, indexed)), 0) as total
       from mirror.folder where mailbox_number = $1 and ($2::int is null or folder_number = $2)`,
      [mailboxNumber, folderNumber ?? null],
    );
    return { indexed: Number(row?.indexed ?? 0), total: Number(row?.total ?? 0) };
  }

  async query(mailbox: WholeMailbox, query: MailQuery): Promise<IndexAnswer | null> {
    try {
      return (await this.#unchanged.find(mailbox, query)) ?? (await this.#readAtOnce(mailbox, query));
    } catch (error) {
      if (error instanceof MirrorNotReady) return null;
      throw error;
    }
  }

  threads(mailbox: WholeMailbox, asked: ThreadsAsked): Promise<ThreadsNow | null> {
    return threadsNow(this.#sql, mailbox, asked, (root) =>
      this.#locators.thread(mailbox.mailboxNumber, root),
    );
  }

  async unnamed(mailboxNumber: number): Promise<readonly number[]> {
    const rows = await this.#sql.query<{ folder_number: number }>(
      'select folder_number from mirror.folder where mailbox_number = $1 and named_from > 1',
      [mailboxNumber],
    );
    return rows.map(({ folder_number }) => folder_number);
  }

  async nameSome(mailboxId: string, fence: Fence, key: FolderKey): Promise<boolean> {
    return await this.#fenced(mailboxId, fence, (sql) =>
      nameSome(sql, key, (root) => this.#locators.thread(key.mailboxNumber, root)),
    );
  }

  /** Reads one state of the mirrors; null when they changed during every attempt. Throws `MirrorNotReady`. */
  async #readAtOnce(mailbox: WholeMailbox, query: MailQuery): Promise<IndexAnswer | null> {
    const ids = threadIdsOf(query.filter);
    for (let attempt = 1; attempt <= MOST_READS; attempt += 1) {
      const threads = ids.length === 0 ? NO_THREADS : await this.threads(mailbox, { messages: [], ids });
      if (threads === null) return null;
      const asked = { ...query, filter: withThreadIds(query.filter, threads.ids) };
      const reader = new PageReader(this.#sql, mailbox, asked, threads.version);
      try {
        const found = await queryIndex(reader, asked);
        const { states } = reader;
        if (query.byThread === true && reader.threadsVersion === null) return null;
        // A name that no message has yet may join any thread later.
        const isWhole = ids.every((id) => threads.ids.has(id));
        return { ...found, states, ...(isWhole && versionOfPage(query, found, states)) };
      } catch (error) {
        if (!(error instanceof MirrorChanged)) throw error;
      }
    }
    return null;
  }

  async analyze(): Promise<void> {
    const grown = await this.#sql.query<{ name: string }>(GROWN);
    for (const { name } of grown) {
      await this.#sql.transaction(async (sql) => {
        await sql.query(SHORT_WAIT);
        await sql.query(`analyze ${name}`);
      });
    }
  }

  async erase(mailboxNumber: number): Promise<void> {
    for (const table of TABLES) {
      await this.#sql.query(`delete from ${table} where mailbox_number = $1`, [mailboxNumber]);
    }
  }

  async #fenced<T>(mailboxId: string, fence: Fence, work: (sql: Sql) => Promise<T>): Promise<T> {
    return await this.#sql.transaction(async (sql) => {
      const held = await sql.query(HOLDS, [mailboxId, fence]);
      if (held.length === 0) throw new FencedOff(mailboxId);
      return await work(sql);
    });
  }
}

const big = (text: string | null): bigint | null => (text === null ? null : BigInt(text));

const mirrorOf = (row: FolderRow): FolderMirror => ({
  uidValidity: Number(row.uid_validity),
  uidNext: Number(row.uid_next),
  indexedFrom: Number(row.indexed_from),
  highestModseq: big(row.highest_modseq),
  total: Number(row.total),
  checkedAt: row.checked_at,
  feedPosition: big(row.feed_position),
  invalidations: Number(row.distrusts),
});

/** The mirrored flags of a row, in the form of the mirror. */
export const flagsOfRow = ({ flags, keywords }: Pick<FlagsRow, 'flags' | 'keywords'>): readonly string[] => [
  ...MIRRORED_FLAGS.filter((_, index) => flags[index] === true),
  ...(keywords ?? []),
];
