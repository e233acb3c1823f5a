/**
 * B7: many mailboxes of a Dovecot, connected and idling in one gateway process, compared with bare clients
 * (`idle-anchor.ts`). Linux only: memory, CPU time and connections are read from `/proc`.
 */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../infra/platform/reserved-port.ts';
import { secondsOf } from './cpu-time.ts';
import { withDovecot } from './dovecot-mailbox.ts';
import { type Figure, median, ratio } from './figures.ts';
import type { BareClients } from './idle-anchor.ts';
import { openRaw } from './mail-site.ts';
import { type DemoFacts, endChild, runScript, startDemo } from './processes.ts';

const PASSWORD = 'idle-away-7';
const ADD_AT_ONCE = 6;
const CONNECT_WITHIN_MS = 15 * 60_000;
/** Buffers of the startup are freed within this time, or never. */
const SETTLE_MS = 10_000;
/** Adding many at once outruns the directory, which then refuses temporarily. */
const RETRY_AFTER_MS = 500;
const MOST_TRIES = 60;
const SAMPLES = 5;
/** Half of the mailboxes list their folders within this time. */
const IDLE_MS = 20_000;
/** The memory of fewer mailboxes is less than what varies anyway: no target, and no ratio. Nor has their CPU a target. */
const MANY = 1_000;

export async function measureIdle(mailboxes: number): Promise<readonly Figure[]> {
  const options = { password: PASSWORD, maxUserConnections: 10, mostClients: mailboxes * 2 + 100 };
  return await withDovecot(options, async (server) => {
    const dataDir = mkdtempSync(join(tmpdir(), 'gateway-bench-idle-'));
    chmodSync(dataDir, 0o755);
    try {
      return await measureOn(server.ports.imap, dataDir, mailboxes);
    } finally {
      rmSync(dataDir, { recursive: true, force: true });
    }
  });
}

async function measureOn(port: number, dataDir: string, mailboxes: number): Promise<readonly Figure[]> {
  const gatewayPort = await freePort();
  let { child, facts } = await startDemo(dataDir, gatewayPort);
  try {
    if (mailboxes >= MANY) await sleep(SETTLE_MS);
    const baseKiB = rssKiB(child);
    const ids = await addMailboxes(facts, port, mailboxes);
    await connected(port, mailboxes);
    await synced(facts, mailboxes);
    await endChild(child);
    // The second start only connects and idles.
    const begin = performance.now();
    ({ child, facts } = await startDemo(dataDir, gatewayPort));
    await connected(port, mailboxes);
    const connectSeconds = (performance.now() - begin) / 1_000;
    await sleep(SETTLE_MS);
    const cpuPercent = await cpuPercentOver(child, IDLE_MS);
    const eachKiB = (rssKiB(child) - baseKiB) / mailboxes;
    const news = await measureNews(facts, port, ids);
    await endChild(child);
    const anchor = [String(port), PASSWORD, String(mailboxes)];
    const bare = JSON.parse(await runScript('bench/idle-anchor.ts', anchor)) as BareClients;
    return figuresOf(mailboxes, { connectSeconds, eachKiB, cpuPercent, ...news }, bare);
  } finally {
    await endChild(child);
  }
}

interface Measured extends News {
  readonly connectSeconds: number;
  readonly eachKiB: number;
  readonly cpuPercent: number;
}

function figuresOf(mailboxes: number, measured: Measured, bare: BareClients): readonly Figure[] {
  const { connectSeconds, eachKiB, news, following, raw } = measured;
  const name = (text: string): string => `B7 ${String(mailboxes)} mailboxes: ${text}`;
  const figure = (text: string, value: number, unit: string, atMost?: number): Figure => ({
    name: name(text),
    value,
    unit,
    ...(atMost === undefined ? {} : { target: { atMost } }),
  });
  const areMany = mailboxes >= MANY;
  return [
    figure('all connected, from the start of the process', connectSeconds, 's', 60),
    figure('bare clients connected', bare.connectSeconds, 's'),
    ratio(name('connected ÷ bare clients'), connectSeconds / bare.connectSeconds, 'less'),
    figure('RSS each above base', eachKiB, 'KiB', areMany ? 150 : undefined),
    figure('RSS of a bare client', bare.eachKiB, 'KiB'),
    ...(areMany ? [ratio(name('RSS each ÷ a bare client'), eachKiB / bare.eachKiB, 'less')] : []),
    figure('CPU while idle', measured.cpuPercent, '% of a core', areMany ? 3 : undefined),
    figure('CPU of bare clients that list their folders as often', bare.cpuPercent, '% of a core'),
    ratio(name('CPU while idle ÷ bare clients'), measured.cpuPercent / bare.cpuPercent, 'less'),
    figure('new mail answers a wait, slowest', Math.max(...news), 's', 2),
    figure('the mail that follows, slowest', Math.max(...following), 's', 2),
    figure('raw IDLE, slowest', Math.max(...raw), 's'),
    ratio(name('new mail, median ÷ raw IDLE'), median([...news, ...following]) / median(raw), 'less'),
  ];
}

const user = (index: number): string => `idle${String(index)}`;

async function call(facts: DemoFacts, method: string, path: string, body?: object): Promise<unknown> {
  for (let tries = 1; ; tries += 1) {
    const response = await fetch(`${facts.base_url}/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${facts.rest_token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (response.ok) return JSON.parse(text);
    if (response.status !== 503 || tries === MOST_TRIES)
      throw new Error(`${method} ${path}: ${String(response.status)} ${text}`);
    await sleep(RETRY_AFTER_MS);
  }
}

async function addMailboxes(facts: DemoFacts, port: number, count: number): Promise<readonly string[]> {
  const host = { host: '127.0.0.1', port, security: 'none' };
  const ids: string[] = [];
  let next = 0;
  const add = async (): Promise<void> => {
    for (let index = next++; index < count; index = next++) {
      const auth = { type: 'password', username: user(index), password: PASSWORD };
      const body = { email: `${user(index)}@example.com`, imap: host, smtp: host, auth };
      ids[index] = ((await call(facts, 'POST', '/mailboxes', body)) as { id: string }).id;
    }
  };
  await Promise.all(Array.from({ length: ADD_AT_ONCE }, add));
  return ids;
}

/** Established connections of this machine to a loopback port. */
function connectionsTo(port: number): number {
  const remote = `0100007F:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const lines = readFileSync('/proc/net/tcp', 'utf8').split('\n').slice(1);
  return lines.filter(
    (line) => line.trim().split(/\s+/)[2] === remote && line.trim().split(/\s+/)[3] === '01',
  ).length;
}

const connected = (port: number, count: number): Promise<void> => until(() => connectionsTo(port) >= count);

async function synced(facts: DemoFacts, count: number): Promise<void> {
  await until(async () => {
    let done = 0;
    let cursor: string | null = null;
    do {
      const query: string = cursor === null ? '' : `&cursor=${cursor}`;
      const page = (await call(facts, 'GET', `/mailboxes?limit=200${query}`)) as {
        items: { state: string }[];
        page: { next_cursor: string | null };
      };
      done += page.items.filter(({ state }) => state === 'connected').length;
      cursor = page.page.next_cursor;
    } while (cursor !== null);
    return done > count;
  });
}

async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + CONNECT_WITHIN_MS;
  while (!(await isSo())) {
    if (performance.now() > deadline) throw new Error('the mailboxes were not connected in time');
    await sleep(200);
  }
}

function rssKiB({ pid }: ChildProcess): number {
  const status = readFileSync(`/proc/${String(pid)}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1] ?? Number.NaN);
}

async function cpuPercentOver({ pid = 0 }: ChildProcess, ms: number): Promise<number> {
  const before = secondsOf(pid);
  await sleep(ms);
  return ((secondsOf(pid) - before) / (ms / 1_000)) * 100;
}

const message = (id: string): string =>
  `From: Bench <bench@example.com>\r\nSubject: ${id}\r\nMessage-ID: <${id}@example.com>\r\n\r\nHello\r\n`;

/**
 * Seconds until an open wait is answered: for a first mail, for one directly after it, and until a raw client
 * in IDLE has each of them.
 */
interface News {
  readonly news: readonly number[];
  readonly following: readonly number[];
  readonly raw: readonly number[];
}

async function measureNews(facts: DemoFacts, port: number, ids: readonly string[]): Promise<News> {
  const [news, following, raw]: [number[], number[], number[]] = [[], [], []];
  const step = Math.max(1, Math.floor(ids.length / SAMPLES));
  for (let index = 0; index < ids.length; index += step) {
    const imap = { host: '127.0.0.1', port, user: user(index), password: PASSWORD };
    const [writer, watcher] = [await openRaw(imap), await openRaw(imap)];
    await watcher.mailboxOpen('INBOX', { readOnly: true });
    let cursor: string | null = null;
    for (const seconds of [news, following]) {
      const path = `/mailboxes/${ids[index] ?? ''}/monitor_inbox`;
      const wait = call(facts, 'POST', path, { timeout_seconds: 20, ...(cursor === null ? {} : { cursor }) });
      const told = once(watcher, 'exists');
      const idling = watcher.idle();
      // The waits must be open before the mail arrives.
      await sleep(100);
      const begin = performance.now();
      const since = (): number => (performance.now() - begin) / 1_000;
      const seen = told.then(since);
      await writer.append('INBOX', message(`idle-${String(index)}-${String(begin)}`));
      const answer = (await wait) as { status: string; cursor: string };
      seconds.push(answer.status === 'matched' ? since() : Number.POSITIVE_INFINITY);
      raw.push(await seen);
      cursor = answer.cursor;
      // Any command ends IDLE.
      await watcher.noop();
      await idling;
    }
    await Promise.all([writer.logout(), watcher.logout()]);
  }
  return { news, following, raw };
}
