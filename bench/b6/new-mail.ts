/**
 * B6: from the moment the mail server tells the gateway of a new mail to the arrival of its webhook: on a
 * Dovecot, and mail after mail on a server that does not gather news.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ImapFlow } from 'imapflow';
import { seedMailbox } from '../../infra/demo/seed-mailbox.ts';
import { addIndexed, withDovecot } from '../dovecot-mailbox.ts';
import { type Figure, percentile } from '../figures.ts';
import { type DemoFacts, endChild, startScript } from '../processes.ts';
import { openIdleLine } from './idle-line.ts';

const MAILS = 40;
const WARM_UP = 10;
/** The next mail follows while the gateway is busy with the one before, or when it is idle again. */
const [SOON_MS, LATER_MS] = [20, 400];
const ARRIVE_WITHIN_MS = 20_000;

/** The times at which webhooks came since the last call, in milliseconds. */
type Arrivals = () => Promise<readonly number[]>;

export async function measureNewMail(facts: DemoFacts, arrivals: Arrivals): Promise<readonly Figure[]> {
  const { password } = facts.imap;
  const single = await withDovecot({ password, maxUserConnections: 100 }, async ({ ports }) => {
    const imap = { ...facts.imap, port: ports.imap, user: 'new-mail@example.com' };
    return await delays(facts, imap, [SOON_MS, LATER_MS], arrivals);
  });
  const row = await withPromptServer(facts, (imap) => delays(facts, imap, [SOON_MS], arrivals));
  return [...figuresOf('new mail', single), ...figuresOf('mail after mail', row)];
}

const figuresOf = (what: string, ms: readonly number[]): readonly Figure[] => {
  const name = `B6 ${what} → webhook after IDLE`;
  const target = { atMost: 50 };
  return [
    { name: `${name}, p50`, value: percentile(ms, 0.5), unit: 'ms', target },
    { name: `${name}, p95`, value: percentile(ms, 0.95), unit: 'ms' },
  ];
};

async function withPromptServer<T>(
  facts: DemoFacts,
  work: (imap: DemoFacts['imap']) => Promise<T>,
): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-bench-mail-'));
  const imap = { ...facts.imap, user: 'mail-after-mail@example.com' };
  const { child, line } = await startScript('bench/b6/prompt-server.ts', [folder, imap.user, imap.password]);
  try {
    return await work({ ...imap, port: Number(line) });
  } finally {
    await endChild(child);
    rmSync(folder, { recursive: true, force: true });
  }
}

async function delays(
  facts: DemoFacts,
  imap: DemoFacts['imap'],
  pausesMs: readonly number[],
  arrivals: Arrivals,
): Promise<readonly number[]> {
  const { host, port, user, password } = imap;
  const size = await seedMailbox(imap);
  await using line = await openIdleLine(port);
  await addIndexed(facts, { ...imap, port: line.port }, size);
  const writer = new ImapFlow({ host, port, secure: false, auth: { user, pass: password }, logger: false });
  await writer.connect();
  try {
    line.begin((await writer.mailboxOpen('INBOX')).exists);
    await arrivals();
    const came: number[] = [];
    for (let n = 0; n < MAILS; n += 1) {
      await writer.append('INBOX', `From: a@example.com\r\nSubject: New ${String(n)}\r\n\r\nHello.\r\n`);
      for (const until = Date.now() + ARRIVE_WITHIN_MS; came.length <= n && Date.now() < until;) {
        await sleep(5);
        came.push(...(await arrivals()));
      }
      await sleep(pausesMs[n % pausesMs.length]);
    }
    if (came.length !== MAILS || line.told.length !== MAILS)
      throw new Error(
        `${String(came.length)} webhooks of ${String(MAILS)} mails, told ${String(line.told.length)}`,
      );
    return came.map((at, n) => at - (line.told[n] ?? at)).slice(WARM_UP);
  } finally {
    await writer.logout();
  }
}
