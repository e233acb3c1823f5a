/** Mailboxes of many messages on their own Dovecot, connected to the gateway, for read benchmarks. */
import { execFile } from 'node:child_process';
import { mkdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { mailAccount } from '../test/support/servers/dovecot-process.ts';
import { addIndexed, withDovecot } from './dovecot-mailbox.ts';
import type { Figure } from './figures.ts';
import type { DemoFacts } from './processes.ts';

const run = promisify(execFile);
const PASSWORD = 'benchmark';

const WORDS = [
  'meeting', 'report', 'update', 'project', 'status', 'weekly', 'review', 'plan', 'budget', 'order',
  'shipping', 'alert', 'release', 'notes', 'question', 'answer', 'draft', 'final', 'travel', 'contract',
]; // prettier-ignore

/** Every second message is unseen; every twentieth of the seen and of the unseen ones is an invoice. */
const isInvoice = (n: number): boolean => n % 40 < 2;
const START_MS = Date.UTC(2025, 0, 1);

function message(n: number): string {
  const word = (by: number): string => WORDS[(n * by) % WORDS.length] ?? '';
  const subject = `${isInvoice(n) ? 'Invoice' : word(3)} ${word(7)} ${String(n)} ${word(11)}`;
  const person = `person${String((n * 31) % 3_000)}`;
  const html = n % 5 < 2;
  const text = `${word(13)} ${word(17)} `.repeat(40);
  return [
    `From: ${person} <${person}@company${String((n * 7) % 300)}.example.com>`,
    'To: Bench <bench@example.com>',
    `Subject: ${subject}`,
    `Message-ID: <${String(n)}@bench.example.com>`,
    ...(n % 3 === 0 ? [] : [`References: <${String(n - (n % 9))}@bench.example.com>`]),
    `Date: ${new Date(START_MS + n * 60_000).toUTCString()}`,
    'MIME-Version: 1.0',
    ...(html
      ? ['Content-Type: multipart/alternative; boundary=b', '', '--b', 'Content-Type: text/plain', '', text,
         '--b', 'Content-Type: text/html', '', `<p>${text}</p>`, '--b--', '']
      : ['Content-Type: text/plain; charset=utf-8', '', text, '']),
  ].join('\r\n'); // prettier-ignore
}

export interface LargeMailbox {
  readonly size: number;
  readonly imap: DemoFacts['imap'];
  /** Id in the gateway; the mirror holds every message. */
  readonly id: string;
}

/** Measures once per size; the figures include the first pass. Everything is removed afterwards. */
export async function onLargeMailboxes(
  facts: DemoFacts,
  sizes: readonly number[],
  measure: (mailbox: LargeMailbox) => Promise<readonly Figure[]>,
): Promise<readonly Figure[]> {
  const account = { password: PASSWORD, maxUserConnections: 100 };
  return await withDovecot(account, async (server, folder) => {
    const figures: Figure[] = [];
    for (const size of sizes) {
      const user = `of${String(size)}@example.com`;
      await fill(folder, server.configFile, user, size);
      const imap = { host: '127.0.0.1', port: server.ports.imap, user, password: PASSWORD };
      const begin = performance.now();
      const id = await addIndexed(facts, imap, size);
      const perSecond = (size / (performance.now() - begin)) * 1_000;
      figures.push({ name: `first pass over ${String(size)} messages`, value: perSecond, unit: '/s' });
      figures.push(...(await measure({ size, imap, id })));
    }
    return figures;
  });
}

/** Written as Maildir files, which Dovecot then imports: by far the fastest way. */
async function fill(folder: string, configFile: string, user: string, size: number): Promise<void> {
  const maildir = join(folder, `maildir-${user}`);
  for (const name of ['cur', 'new', 'tmp']) mkdirSync(join(maildir, name), { recursive: true });
  for (let n = 1; n <= size; n += 1) {
    const seconds = START_MS / 1_000 + n * 60;
    const file = join(maildir, 'cur', `${String(seconds)}.M${String(n)}P1.bench:2,${n % 2 === 0 ? 'S' : ''}`);
    writeFileSync(file, message(n));
    utimesSync(file, seconds, seconds);
  }
  const { uid, gid } = await mailAccount();
  await run('chown', ['-R', `${String(uid)}:${String(gid)}`, maildir]);
  await run('doveadm', ['-c', configFile, 'import', '-u', user, `maildir:${maildir}`, '', 'all']);
  rmSync(maildir, { recursive: true, force: true });
}
