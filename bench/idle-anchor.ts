/**
 * The anchor of B7, in its own process: bare ImapFlow clients that are logged in and idle on INBOX. Arguments:
 * port, password, users. Prints as JSON the RSS of each above base in KiB, the seconds until all were connected, and
 * the CPU while each lists its folders as often as the gateway does: nothing else reports news of other folders.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { ImapFlow } from 'imapflow';
import { jittered, SYNC_TIMES } from '../infra/mail-sync/sync-times.ts';

const AT_ONCE = 20;
/** The same times as the gateway gets. */
const SETTLE_MS = 10_000;
const IDLE_MS = 20_000;
const STATUS = { messages: true, unseen: true, uidValidity: true, uidNext: true, highestModseq: true };

const [port = '', password = '', count = ''] = process.argv.slice(2);
const clients: ImapFlow[] = [];

async function idle(index: number): Promise<void> {
  const client = new ImapFlow({
    host: '127.0.0.1',
    port: Number(port),
    secure: false,
    doSTARTTLS: false,
    auth: { user: `idle${String(index)}`, pass: password },
    logger: false,
    disableAutoIdle: true,
    disableCompression: true,
    disableIMAP4rev2: true,
  });
  clients.push(client);
  await client.connect();
  await client.mailboxOpen('INBOX', { readOnly: true });
  listen(client);
}

function listen(client: ImapFlow): void {
  // It ends with the next command, or with the process.
  client.idle().catch(() => undefined);
}

/** Lists its folders again and again, at first at any time of the interval. */
async function listRepeatedly(client: ImapFlow): Promise<never> {
  await sleep(Math.random() * SYNC_TIMES.roundEveryMs);
  for (;;) {
    await client.list({ statusQuery: STATUS });
    listen(client);
    await sleep(jittered(SYNC_TIMES.roundEveryMs));
  }
}

export interface BareClients {
  readonly eachKiB: number;
  readonly connectSeconds: number;
  /** Of one core. */
  readonly cpuPercent: number;
}

let next = 0;
async function connectSome(): Promise<void> {
  while (next < Number(count)) await idle(next++);
}

const beforeBytes = process.memoryUsage.rss();
const begin = performance.now();
await Promise.all(Array.from({ length: AT_ONCE }, connectSome));
const connectSeconds = (performance.now() - begin) / 1_000;
await sleep(SETTLE_MS);
const eachKiB = (process.memoryUsage.rss() - beforeBytes) / 1_024 / clients.length;
const cpuBefore = process.cpuUsage();
const listing = clients.map(listRepeatedly);
await Promise.race([sleep(IDLE_MS), ...listing]);
const { user, system } = process.cpuUsage(cpuBefore);
const cpuPercent = ((user + system) / 1_000 / IDLE_MS) * 100;
process.stdout.write(`${JSON.stringify({ eachKiB, connectSeconds, cpuPercent })}\n`);
process.exit(0);
