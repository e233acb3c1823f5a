/** B3: `email.act` archive of one message, beside a raw ImapFlow MOVE on the same server, alternating. */
import { ImapFlow } from 'imapflow';
import type { Figure } from './figures.ts';
import type { DemoFacts } from './processes.ts';

const ROUNDS = 200;
const WARM_UP = 20;

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

interface Listed {
  readonly items: readonly { readonly id: string }[];
}

const percentile = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length * share)] ?? Number.NaN;

export async function measureArchive(facts: DemoFacts): Promise<readonly Figure[]> {
  const { host, port, user, password } = facts.imap;
  const raw = new ImapFlow({
    host,
    port,
    secure: false,
    auth: { user, pass: password },
    logger: false,
    disableAutoIdle: true,
  });
  await raw.connect();
  const total = ROUNDS + WARM_UP;
  for (let index = 0; index < total * 2; index += 1) await raw.append('INBOX', message(index));
  const ids: string[] = [];
  const select = { folder: 'inbox', filter: { subject_contains: 'Benchmark' }, limit: 200 };
  let cursor: string | null = null;
  do {
    const page = (await api(facts, 'email.query', {
      view: 'ids',
      select: { ...select, ...(cursor === null ? {} : { cursor }) },
    })) as Listed & { readonly page: { readonly next_cursor: string | null } };
    ids.push(...page.items.map(({ id }) => id));
    cursor = page.page.next_cursor;
  } while (cursor !== null);
  await raw.mailboxOpen('INBOX');
  const found = await raw.search({ subject: 'Benchmark' }, { uid: true });
  const uids = found === false || found === undefined ? [] : found;
  const [ours, theirs]: [number[], number[]] = [[], []];
  for (let round = 0; round < total; round += 1) {
    // Newest first on our side, oldest first on the raw side: they never meet.
    const id = ids[round] ?? '';
    let begin = performance.now();
    const operation = {
      type: 'message_actions',
      select: { message_ids: [id] },
      actions: [{ type: 'archive' }],
    };
    const answer = (await api(facts, 'email.act', { operation }, `bench-${id}`)) as {
      summary: { done: number };
    };
    if (answer.summary.done !== 1) throw new Error('the archive did not happen');
    if (round >= WARM_UP) ours.push(performance.now() - begin);
    begin = performance.now();
    await raw.messageMove(String(uids[round]), 'Archive', { uid: true });
    if (round >= WARM_UP) theirs.push(performance.now() - begin);
  }
  await raw.logout();
  const difference = percentile(ours, 0.5) - percentile(theirs, 0.5);
  return [
    { name: 'B3 email.act archive p50', value: percentile(ours, 0.5), unit: 'ms' },
    { name: 'B3 email.act archive p99', value: percentile(ours, 0.99), unit: 'ms' },
    { name: 'B3 raw ImapFlow MOVE p50', value: percentile(theirs, 0.5), unit: 'ms' },
    { name: 'B3 added at p50', value: difference, unit: 'ms', target: { atMost: 5 } },
  ];
}
