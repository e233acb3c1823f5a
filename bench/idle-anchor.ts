/**
 * The anchor of B7, in its own process: bare ImapFlow clients that are logged in and idle on INBOX.
 * Arguments: port, password, users. Prints the RSS of each above base in KiB.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { ImapFlow } from 'imapflow';

const AT_ONCE = 20;
/** The same time as the gateway gets. */
const SETTLE_MS = 15_000;

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

let next = 0;
async function connectSome(): Promise<void> {
  while (next < Number(count)) await idle(next++);
}

const beforeBytes = process.memoryUsage.rss();
await Promise.all(Array.from({ length: AT_ONCE }, connectSome));
await sleep(SETTLE_MS);
const eachKiB = (process.memoryUsage.rss() - beforeBytes) / 1_024 / clients.length;
process.stdout.write(`${String(eachKiB)}\n`);
process.exit(0);
