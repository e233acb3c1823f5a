/**
 * B10: 50 messages of a large mailbox over REST, 16 requests in flight: another page each time, and the newest
 * page again and again, beside raw ImapFlow and the index alone; and memory meanwhile.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ImapFlow } from 'imapflow';
import type { Job, Load } from './b10/load.ts';
import { type Figure, ratio } from './figures.ts';
import { type LargeMailbox, receivedAt } from './large-mailbox.ts';
import { openRaw } from './mail-site.ts';
import { type DemoFacts, runScript } from './processes.ts';

const SHAPE = { inFlight: 16, warmUpMs: 2_000, measureMs: 6_000 };
const RAW_MS = 3_000;
const INDEX_MS = 4_000;
const LIMIT = 50;
const LOOK_EVERY_MS = 250;

/** Memory of the serving process, without its Postgres, in MiB; NaN where the system does not report it. */
function residentMiB(pid: number): number {
  try {
    const kib = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${String(pid)}/status`, 'utf8'))?.[1];
    return Number(kib) / 1_024;
  } catch {
    return Number.NaN;
  }
}

interface Gateway {
  readonly pid: number;
  readonly dataDir: string;
}

export async function measureList(
  facts: DemoFacts,
  mailboxes: readonly LargeMailbox[],
  gateway: Gateway,
): Promise<readonly Figure[]> {
  const figures: Figure[] = [];
  for (const mailbox of mailboxes) figures.push(...(await measure(facts, mailbox, gateway)));
  return figures;
}

async function measure(
  facts: DemoFacts,
  mailbox: LargeMailbox,
  { pid, dataDir }: Gateway,
): Promise<readonly Figure[]> {
  let most = residentMiB(pid);
  const looking = setInterval(() => {
    most = Math.max(most, residentMiB(pid));
  }, LOOK_EVERY_MS);
  try {
    const raw = await rawListsPerSecond(mailbox);
    const distinct = await load({ ...SHAPE, ...otherPages(facts, mailbox) });
    const alone = await indexPagesPerSecond(dataDir, mailbox);
    const repeated = await load({ ...SHAPE, ...newestPage(facts, mailbox) });
    const of = `of ${mailbox.size.toLocaleString('en')}`;
    return [
      { name: `B10 lists ${of}, raw FETCH on one connection`, value: raw, unit: '/s' },
      ...figuresOf(`B10 lists ${of}, another page each time`, distinct, raw, { target: { atLeast: 600 } }),
      { name: `B10 lists ${of}, another page each time, the index alone`, value: alone, unit: '/s' },
      ratio(`B10 lists ${of}, another page each time ÷ the index alone`, distinct.perSecond / alone, 'more'),
      ...figuresOf(`B10 lists ${of}, the same again`, repeated, raw, {
        target: { atLeast: 2_000 },
        peer: { operation: 'lists at 16 in flight, the same again', what: 'perSecond' },
      }),
      { name: `B10 lists ${of}: RSS of the gateway`, value: most, unit: 'MiB', target: { atMost: 250 } },
    ];
  } finally {
    clearInterval(looking);
  }
}

const load = async (job: Job): Promise<Load> =>
  JSON.parse(await runScript('bench/b10/load.ts', [JSON.stringify(job)])) as Load;

/** By a process beside the gateway, which does nothing meanwhile. */
async function indexPagesPerSecond(dataDir: string, { size }: LargeMailbox): Promise<number> {
  const { database_url: url } = JSON.parse(readFileSync(join(dataDir, 'run.json'), 'utf8')) as {
    readonly database_url: string;
  };
  return JSON.parse(
    await runScript('bench/b10/read-pages.ts', [url, String(size), String(INDEX_MS)]),
  ) as number;
}

type Asked = Pick<Job, 'url' | 'token' | 'items' | 'bodies'>;

const newestPage = (facts: DemoFacts, { id, size }: LargeMailbox): Asked => ({
  url: `${facts.base_url}/api/v1/mailboxes/${id}/messages?folder=inbox&limit=${String(LIMIT)}`,
  token: facts.rest_token,
  items: Math.min(LIMIT, size),
  bodies: null,
});

/** The page before each message: of every two requests each names another time. */
const otherPages = (facts: DemoFacts, { id, size }: LargeMailbox): Asked => ({
  url: `${facts.base_url}/api/v1/mailboxes/${id}/email.query`,
  token: facts.rest_token,
  items: LIMIT,
  bodies: {
    before: { select: { folder: 'inbox', filter: { received_before: '$time' }, limit: LIMIT } },
    firstMs: receivedAt(LIMIT + 1).getTime(),
    lastMs: receivedAt(size).getTime(),
  },
});

function figuresOf(
  title: string,
  { perSecond, p50Ms, p99Ms }: Load,
  raw: number,
  beside: Pick<Figure, 'target' | 'peer'>,
): readonly Figure[] {
  return [
    { name: title, value: perSecond, unit: '/s', ...beside },
    ratio(`${title} ÷ raw`, perSecond / raw, 'more'),
    { name: `${title}: p50`, value: p50Ms, unit: 'ms' },
    { name: `${title}: p99`, value: p99Ms, unit: 'ms' },
  ];
}

/** Pages of envelopes and structures, one after the other on one connection: more connections hardly fetch more. */
async function rawListsPerSecond({ imap, size }: LargeMailbox): Promise<number> {
  const raw = await openRaw(imap);
  try {
    await raw.mailboxOpen('INBOX', { readOnly: true });
    await rawPage(raw, size);
    const begin = performance.now();
    let pages = 0;
    // Another page each time here too, newest first.
    for (; performance.now() - begin < RAW_MS; pages += 1)
      await rawPage(raw, size - (pages % (size - LIMIT)));
    return (pages / (performance.now() - begin)) * 1_000;
  } finally {
    await raw.logout();
  }
}

async function rawPage(raw: ImapFlow, last: number): Promise<void> {
  const range = `${String(last - LIMIT + 1)}:${String(last)}`;
  const wanted = {
    uid: true,
    flags: true,
    envelope: true,
    bodyStructure: true,
    internalDate: true,
    size: true,
  };
  const page = await raw.fetchAll(range, wanted);
  if (page.length !== LIMIT) throw new Error(`a raw page of ${String(page.length)}`);
}
