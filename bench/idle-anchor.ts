/**
 * The anchor of B7, in its own process: bare ImapFlow clients that are logged in and idle on INBOX. Arguments:
 * port, password, users. Prints as JSON the RSS of each above base in KiB, and the seconds until all were
 * connected.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { ImapFlow } from 'imapflow';

const AT_ONCE = 20;
/** The same time as the gateway gets. */
const SETTLE_MS = 10_000;

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
  // It ends with the process.
  client.idle().catch(() => undefined);
}

export interface BareClients {
  readonly eachKiB: number;
  readonly connectSeconds: number;
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
process.stdout.write(`${JSON.stringify({ eachKiB, connectSeconds })}\n`);
process.exit(0);
