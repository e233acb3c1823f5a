/** A mirror in its own database, filled from a mail server, and a gateway that answers from it. */
import type { Locators, Sql } from '../../../commands/ports/ports.ts';
import type { HostSettings } from '../../../commands/ports/mail-port.ts';
import type { FolderRef } from '../../../commands/mail/message.ts';
import type { FolderMirror, WholeMailbox } from '../../../infra/mail-index/folder-mirror.ts';
import { PostgresMailIndex } from '../../../infra/mail-index/postgres-mirror.ts';
import type { ImapGatewayOptions, MailLimits } from '../../../infra/mail/imap-gateway.ts';
import { searchUids } from '../../../infra/mail/search-uids.ts';
import { inPieces } from '../../../infra/mail/uid-set.ts';
import { fetchMirrored } from '../../../infra/mail-sync/fetch-changes.ts';
import { openPool, postgresSql } from '../../../infra/postgres/pool.ts';
import { mailGateway, type MailGatewayUnderTest } from './mail-gateway.ts';
import { testDatabase } from '../servers/postgres.ts';
import { silentLog } from '../fakes/silent-log.ts';

export const MAILBOX_ID = 'mbx_test';
export const MAILBOX_NUMBER = 1;
/** The mailbox where INBOX is its only folder. */
export const WHOLE: WholeMailbox = { mailboxNumber: MAILBOX_NUMBER, folderNumbers: [1] };
const FENCE = 1n;
const BATCH = 1_000;

/** Threads as `queryOf` names them. */
export const testLocators: Pick<Locators, 'thread'> = { thread: (_, root) => `thr_${root}` };

export interface IndexUnderTest extends AsyncDisposable {
  readonly sql: Sql;
  readonly index: PostgresMailIndex;
  /** Its folders are those that were filled. */
  mailbox: WholeMailbox;
  /** The router's time in milliseconds, which stands still. */
  now: number;
  /** Its queries use the mirror where that can answer. */
  readonly indexed: MailGatewayUnderTest;
  /** Fills the mirror of these folders from nothing to the server's current state. */
  fill(folders: readonly FolderRef[]): Promise<void>;
  keyOf(folder: FolderRef): { readonly mailboxNumber: number; readonly folderNumber: number };
}

/** The lease that every write requires. */
export const FENCE_OF_TEST = FENCE;
/** The life of the process that attests the freshness. */
export const LIFE_OF_TEST = '00000000-0000-4000-8000-000000000001';

export async function openIndex(): Promise<{
  sql: Sql;
  index: PostgresMailIndex;
  close: () => Promise<void>;
}> {
  const database = await testDatabase();
  const pool = openPool({ url: database.url, log: silentLog, size: 8 });
  const sql = postgresSql(pool, { isDirect: true });
  await sql.query(
    `insert into work.mailbox_lease (mailbox_id, run_id, fence, until) values ($1, 'test', $2, now() + interval '1 hour')`,
    [MAILBOX_ID, FENCE],
  );
  await sql.query(
    `insert into work.worker_heartbeat (run_id, life, until) values ('test', $1, now() + interval '1 hour')`,
    [LIFE_OF_TEST],
  );
  const close = async (): Promise<void> => {
    await pool.end();
    await database.drop();
  };
  return { sql, index: new PostgresMailIndex(sql, testLocators), close };
}

/** A mirror and a gateway for the mailbox `user` at `imap`. */
export async function indexUnderTest(
  imap: HostSettings,
  user: string,
  limits: Partial<MailLimits> = {},
  foldersOf?: ImapGatewayOptions['foldersOf'],
): Promise<IndexUnderTest> {
  const { sql, index, close } = await openIndex();
  const indexed = mailGateway(imap, user, {
    limits,
    ...(foldersOf && { foldersOf }),
    queries: {
      index,
      mailboxOf: () => underTest.mailbox,
      headPosition: () => Promise.resolve(7n),
      now: () => underTest.now,
    },
  });
  const keyOf = (folder: FolderRef) => ({ mailboxNumber: MAILBOX_NUMBER, folderNumber: folder.number });
  const underTest: IndexUnderTest = {
    sql,
    index,
    mailbox: { ...WHOLE, folderNumbers: [] },
    now: 0,
    indexed,
    keyOf,
    fill: async (folders) => {
      const numbers = [...underTest.mailbox.folderNumbers, ...folders.map(({ number }) => number)];
      underTest.mailbox = { ...WHOLE, folderNumbers: [...new Set(numbers)] };
      for (const folder of folders) await fillFolder(index, indexed, folder);
    },
    [Symbol.asyncDispose]: async () => {
      indexed.gateway.close();
      await close();
    },
  };
  return underTest;
}

async function fillFolder(
  index: PostgresMailIndex,
  { gateway }: MailGatewayUnderTest,
  folder: FolderRef,
): Promise<void> {
  const key = { mailboxNumber: MAILBOX_NUMBER, folderNumber: folder.number };
  const invalidations = (await index.folder(key))?.invalidations ?? 0;
  await gateway.withConnection(MAILBOX_ID, async (connection) => {
    const open = await connection.open(folder.path, 'read');
    const uids = open.exists === 0 ? [] : await searchUids(connection, { all: true });
    const mirror: FolderMirror = {
      uidValidity: open.uidValidity,
      uidNext: open.uidNext ?? Math.max(0, ...uids) + 1,
      indexedFrom: 1,
      highestModseq: connection.highestModseq,
      total: open.exists,
      checkedAt: new Date(),
      feedPosition: 5n,
      invalidations,
    };
    const pieces = inPieces(uids, BATCH);
    for (const [at, piece] of (pieces.length === 0 ? [[]] : pieces).entries()) {
      const added = await fetchMirrored(connection, folder, open.uidValidity, piece);
      const update = { ...key, reset: at === 0, added, flags: [], removedUids: [] };
      const isLast = at >= pieces.length - 1;
      await index.apply(MAILBOX_ID, FENCE, {
        ...update,
        mirror: isLast ? mirror : { ...mirror, indexedFrom: 2 ** 32 },
      });
    }
  });
}
