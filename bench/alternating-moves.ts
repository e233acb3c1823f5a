/** Messages to be moved through the gateway and by a raw client, alternating, on one server. */
import { setTimeout as sleep } from 'node:timers/promises';
import { ImapFlow } from 'imapflow';
import type { DemoFacts } from './processes.ts';

/** Limit until the gateway lists messages that were appended directly on the server. */
const LISTED_WITHIN_MS = 20_000;

const message = (word: string, index: number): string =>
  [
    'From: Bench <bench@example.com>',
    'To: Demo <demo@example.com>',
    `Subject: ${word} ${String(index)}`,
    `Message-ID: <${word.toLowerCase()}-${String(index)}-${String(Date.now())}@example.com>`,
    `Date: ${new Date().toUTCString()}`,
    '',
    'One of many.',
    '',
  ].join('\r\n');

/** A POST to a path below `/api/v1`. `token`: absent = the demo's token. Throws for every refusal. */
export async function post(
  facts: DemoFacts,
  path: string,
  body: object,
  { key, token = facts.rest_token }: { readonly key?: string; readonly token?: string } = {},
): Promise<unknown> {
  const response = await fetch(`${facts.base_url}/api/v1/${path}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
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

/** Newest first. */
async function listIds(facts: DemoFacts, word: string): Promise<readonly string[]> {
  const ids: string[] = [];
  const select = { folder: 'inbox', filter: { subject_contains: word }, limit: 200 };
  let cursor: string | null = null;
  do {
    const asked = { view: 'ids', select: { ...select, ...(cursor === null ? {} : { cursor }) } };
    const { items, page } = (await post(facts, `mailboxes/${facts.mailbox_id}/email.query`, asked)) as Page;
    ids.push(...items.map(({ id }) => id));
    cursor = page.next_cursor;
  } while (cursor !== null);
  return ids;
}

async function allIds(facts: DemoFacts, word: string, count: number): Promise<readonly string[]> {
  const until = performance.now() + LISTED_WITHIN_MS;
  for (;;) {
    const ids = await listIds(facts, word);
    if (ids.length >= count) return ids;
    if (performance.now() > until) throw new Error(`only ${String(ids.length)} messages are listed`);
    await sleep(100);
  }
}

export async function took(work: () => Promise<unknown>): Promise<number> {
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

export interface Alternating {
  /** The gateway's move of one message, timed. */
  readonly ours: readonly number[];
  /** A raw ImapFlow MOVE of another message, timed. */
  readonly theirs: readonly number[];
}

/** Moves `total` messages each way. `word` distinguishes them from those of other measurements. */
export async function moveAlternating(
  facts: DemoFacts,
  { word, total, folder }: { readonly word: string; readonly total: number; readonly folder: string },
  move: (id: string) => Promise<void>,
): Promise<Alternating> {
  const raw = await openRaw(facts.imap);
  for (let index = 0; index < 2 * total; index += 1) await raw.append('INBOX', message(word, index));
  const ids = await allIds(facts, word, 2 * total);
  await raw.mailboxOpen('INBOX');
  const found = await raw.search({ subject: word }, { uid: true });
  const uids = Array.isArray(found) ? found : [];
  const [ours, theirs]: [number[], number[]] = [[], []];
  for (let round = 0; round < total; round += 1) {
    // The gateway takes the newest first, the raw client the oldest first: they never meet.
    ours.push(await took(() => move(ids[round] ?? '')));
    theirs.push(await took(() => raw.messageMove(String(uids[round]), folder, { uid: true })));
  }
  await raw.logout();
  return { ours, theirs };
}
