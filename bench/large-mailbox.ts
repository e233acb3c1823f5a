/** Mailboxes of many messages on their own Dovecot, connected to the gateway, for benchmarks that read. */
import { execFile } from 'node:child_process';
import { mkdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { mailAccount } from '../test/support/servers/dovecot-process.ts';
import { addIndexed, withDovecot } from './dovecot-mailbox.ts';
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

const wordOf = (n: number, by: number): string => WORDS[(n * by) % WORDS.length] ?? '';

const subjectOf = (n: number): string =>
  `${isInvoice(n) ? 'Invoice' : wordOf(n, 3)} ${wordOf(n, 7)} ${String(n)} ${wordOf(n, 11)}`;

const isUnseen = (n: number): boolean => n % 2 === 1;

/** When message `n` arrived. The last is the newest. */
export const receivedAt = (n: number): Date => new Date(START_MS + n * 60_000);

/** How many unseen messages of a mailbox of that size have the term in their subject. */
export function unseenWith(size: number, term: string): number {
  let count = 0;
  for (let n = 1; n <= size; n += 1) if (isUnseen(n) && subjectOf(n).toLowerCase().includes(term)) count += 1;
  return count;
}

/** Different terms that about every fourth unseen subject has: pieces of words that unseen messages have. */
export function commonTerms(count: number): readonly string[] {
  const unseenWords = new Set(
    WORDS.map((_, n) => (isUnseen(n) ? wordOf(n, 1) : '')).filter((word) => word !== ''),
  );
  const pieces = [...unseenWords].flatMap((word) =>
    Array.from({ length: word.length - 3 }, (_, from) =>
      Array.from({ length: word.length - from - 3 }, (_unused, longer) =>
        word.slice(from, from + 4 + longer),
      ),
    ).flat(),
  );
  return [...new Set(pieces)].slice(0, count);
}

/** Different terms that one unseen subject has, or few: numbers of messages. */
export function rareTerms(size: number, count: number): readonly string[] {
  const step = 2 * Math.floor(size / 2 / count);
  const last = size % 2 === 1 ? size : size - 1;
  return Array.from({ length: count }, (_, at) => String(last - at * step));
}

function message(n: number): string {
  const word = (by: number): string => wordOf(n, by);
  const person = `person${String((n * 31) % 3_000)}`;
  const html = n % 5 < 2;
  const text = `${word(13)} ${word(17)} `.repeat(40);
  return [
    `From: ${person} <${person}@company${String((n * 7) % 300)}.example.com>`,
    'To: Bench <bench@example.com>',
    `Subject: ${subjectOf(n)}`,
    `Message-ID: <${String(n)}@bench.example.com>`,
    ...(n % 3 === 0 ? [] : [`References: <${String(n - (n % 9))}@bench.example.com>`]),
    `Date: ${receivedAt(n).toUTCString()}`,
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
  /** Messages a second that the first pass took into the mirror. */
  readonly firstPassPerSecond: number;
}

/** One mailbox of each size, all at once; they are removed afterwards. */
export async function withLargeMailboxes<T>(
  facts: DemoFacts,
  sizes: readonly number[],
  work: (mailboxes: readonly LargeMailbox[]) => Promise<T>,
): Promise<T> {
  const account = { password: PASSWORD, maxUserConnections: 100 };
  return await withDovecot(account, async (server, folder) => {
    const mailboxes: LargeMailbox[] = [];
    for (const size of sizes) {
      const user = `of${String(size)}@example.com`;
      await fill(folder, server.configFile, user, size);
      const imap = { host: '127.0.0.1', port: server.ports.imap, user, password: PASSWORD };
      const begin = performance.now();
      const id = await addIndexed(facts, imap, size);
      const firstPassPerSecond = (size / (performance.now() - begin)) * 1_000;
      mailboxes.push({ size, imap, id, firstPassPerSecond });
    }
    return await work(mailboxes);
  });
}

/** Written as Maildir files, which Dovecot then imports: by far the fastest way. */
async function fill(folder: string, configFile: string, user: string, size: number): Promise<void> {
  const maildir = join(folder, `maildir-${user}`);
  for (const name of ['cur', 'new', 'tmp']) mkdirSync(join(maildir, name), { recursive: true });
  for (let n = 1; n <= size; n += 1) {
    const seconds = receivedAt(n).getTime() / 1_000;
    const file = join(maildir, 'cur', `${String(seconds)}.M${String(n)}P1.bench:2,${isUnseen(n) ? '' : 'S'}`);
    writeFileSync(file, message(n));
    utimesSync(file, seconds, seconds);
  }
  const { uid, gid } = await mailAccount();
  await run('chown', ['-R', `${String(uid)}:${String(gid)}`, maildir]);
  await run('doveadm', ['-c', configFile, 'import', '-u', user, `maildir:${maildir}`, '', 'all']);
  rmSync(maildir, { recursive: true, force: true });
}
