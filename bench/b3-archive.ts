/** B3: `email.act` archive of one message, beside a raw ImapFlow MOVE on the same server, alternating. */
import { setTimeout as sleep } from 'node:timers/promises';
import { ImapFlow } from 'imapflow';
import type { Figure } from './figures.ts';
import type { DemoFacts } from './processes.ts';

const ROUNDS = 300;
const WARM_UP = 20;
const TOTAL = ROUNDS + WARM_UP;
/** Until the gateway lists what was appended behind its back. */
const LISTED_WITHIN_MS = 20_000;

const message = (index: number): string =>
  [
    'From: Bench <bench@example.com>',
    'To: Demo <demo@example.com>',
    `Subject: Benchmark ${String(index)}`,
    `Message-ID: <bench-${String(index)}-${String(Date.now())}@example.com>`,
    `Date: ${new Date().toUTCString()}`,
    '',
    'One of many.',
    '',
  ].join('\r\n');

async function api(facts: DemoFacts, path: string, body: object, key?: string): Promise<unknown> {
  const response = await fetch(`${facts.base_url}/api/v1/mailboxes/${facts.mailbox_id}/${path}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${facts.rest_token}`,
      'content-type': 'application/json',
      ...(key === undefined ? {} : { 'idempotency-key': key }),
    },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${path}: HTTP ${String(response.status)} ${await response.text()}`);
  return await response.json();
}

interface Page {
  readonly items: readonly { readonly id: string }[];
  readonly page: { readonly next_cursor: string | null };
}

const percentile = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length * share)] ?? Number.NaN;

/** Newest first. */
async function listIds(facts: DemoFacts): Promise<readonly string[]> {
  const ids: string[] = [];
  const select = { folder: 'inbox', filter: { subject_contains: 'Benchmark' }, limit: 200 };
  let cursor: string | null = null;
  do {
    const asked = { view: 'ids', select: { ...select, ...(cursor === null ? {} : { cursor }) } };
    const { items, page } = (await api(facts, 'email.query', asked)) as Page;
    ids.push(...items.map(({ id }) => id));
    cursor = page.next_cursor;
  } while (cursor !== null);
  return ids;
}

async function allIds(facts: DemoFacts): Promise<readonly string[]> {
  const until = performance.now() + LISTED_WITHIN_MS;
  for (;;) {
    const ids = await listIds(facts);
    if (ids.length >= 2 * TOTAL) return ids;
    if (performance.now() > until) throw new Error(`only ${String(ids.length)} messages are listed`);
    await sleep(100);
  }
}

async function archive(facts: DemoFacts, id: string): Promise<void> {
  const operation = {
    type: 'message_actions',
    select: { message_ids: [id] },
    actions: [{ type: 'archive' }],
  };
  const answer = await api(facts, 'email.act', { operation }, `bench-${id}`);
  const { summary } = answer as { summary: { done: number } };
  if (summary.done !== 1) throw new Error(`the archive did not happen: ${JSON.stringify(answer)}`);
}

async function took(work: () => Promise<unknown>): Promise<number> {
  const begin = performance.now();
  await work();
  return performance.now() - begin;
}

async function openRaw({ host, port, user, password }: DemoFacts['imap']): Promise<ImapFlow> {
  const auth = { user, pass: password };
  const raw = new ImapFlow({ host, port, secure: false, auth, logger: false, disableAutoIdle: true });
  await raw.connect();
  return raw;
}

export async function measureArchive(facts: DemoFacts): Promise<readonly Figure[]> {
  const raw = await openRaw(facts.imap);
  for (let index = 0; index < 2 * TOTAL; index += 1) await raw.append('INBOX', message(index));
  const ids = await allIds(facts);
  await raw.mailboxOpen('INBOX');
  const found = await raw.search({ subject: 'Benchmark' }, { uid: true });
  const uids = found === false || found === undefined ? [] : found;
  const [ours, theirs]: [number[], number[]] = [[], []];
  for (let round = 0; round < TOTAL; round += 1) {
    // Newest first on our side, oldest first on the raw side: they never meet.
    ours.push(await took(() => archive(facts, ids[round] ?? '')));
    theirs.push(await took(() => raw.messageMove(String(uids[round]), 'Archive', { uid: true })));
  }
  await raw.logout();
  const [warm, anchor] = [ours.slice(WARM_UP), theirs.slice(WARM_UP)];
  return [
    { name: 'B3 email.act archive p50', value: percentile(warm, 0.5), unit: 'ms' },
    { name: 'B3 email.act archive p99', value: percentile(warm, 0.99), unit: 'ms' },
    { name: 'B3 raw ImapFlow MOVE p50', value: percentile(anchor, 0.5), unit: 'ms' },
    {
      name: 'B3 added at p50',
      value: percentile(warm, 0.5) - percentile(anchor, 0.5),
      unit: 'ms',
      target: { atMost: 5 },
    },
  ];
}
