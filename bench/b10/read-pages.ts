/**
 * Pages of the index, read without anything else: the statement of a page, and messages from its rows. In its own process.
 * Arguments: the database, the messages of the mailbox, and the milliseconds. Prints pages a second.
 */
import { createJsonLog } from '../../infra/observability/json-log.ts';
import { PageReader, queryIndex } from '../../infra/mail-index/read-page.ts';
import { openPool, postgresSql } from '../../infra/postgres/pool.ts';
import { receivedAt } from '../large-mailbox.ts';
import { instantAt } from './instants.ts';

const LIMIT = 50;
const IN_FLIGHT = 16;
const WARM_UP_MS = 1_000;

const [databaseUrl = '', size = '', measureMs = ''] = process.argv.slice(2);
const pool = openPool({ url: databaseUrl, log: createJsonLog('error'), size: IN_FLIGHT });
const sql = postgresSql(pool, { isDirect: true });
const [first, last] = [receivedAt(LIMIT + 1).getTime(), receivedAt(Number(size)).getTime()];

const [folder] = await sql.query<{ mailbox_number: number; folder_number: number }>(
  'select mailbox_number, folder_number from mirror.folder order by total desc limit 1',
);
if (folder === undefined) throw new Error('no folder is mirrored');
const all = await sql.query<{ folder_number: number }>(
  'select folder_number from mirror.folder where mailbox_number = $1',
  [folder.mailbox_number],
);
const mailbox = {
  mailboxNumber: folder.mailbox_number,
  folderNumbers: all.map(({ folder_number: number }) => number),
};

async function readPage(n: number): Promise<void> {
  const query = {
    folders: [{ number: folder?.folder_number ?? 0, path: 'INBOX' }],
    filter: { received_before: new Date(instantAt(n, first, last)).toISOString() },
    order: 'received_desc',
    limit: LIMIT,
    after: null,
    depth: 'envelope',
    textChars: null,
    countOnly: false,
  } as const;
  const { messages } = await queryIndex(new PageReader(sql, mailbox, query, null), query);
  if (messages.length !== LIMIT) throw new Error(`a page of ${String(messages.length)}`);
}

const begin = performance.now();
const since = (): number => performance.now() - begin - WARM_UP_MS;
let asked = 0;
let pages = 0;
async function reader(): Promise<void> {
  while (since() < Number(measureMs)) {
    asked += 1;
    await readPage(asked);
    if (since() > 0) pages += 1;
  }
}
await Promise.all(Array.from({ length: IN_FLIGHT }, reader));
process.stdout.write(JSON.stringify(pages / (since() / 1_000)));
await pool.end();
