/** B12: the newest ten approvals over REST with ten and with many open: open approvals must not slow down reads. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Figure, median, ratio } from './figures.ts';
import type { DemoFacts } from './processes.ts';

const FEW = 10;
const ASK_AT_ONCE = 16;
const WARM_UP = 100;
const READS = 400;
const MOST_RATIO = 1.5;
const LISTED_WITHIN_MS = 60_000;
const POLL_EVERY_MS = 250;
const MOST_TRIES = 40;

/** The lists that are read; each returns ten approvals at either size. */
const LISTS = {
  all: '/approvals?limit=10',
  waiting: '/approvals?limit=10&status=awaiting_approval',
  requested: '/approvals?limit=10&role=requester&status=awaiting_approval',
} as const;

export async function measureOpenApprovals(facts: DemoFacts, most: number): Promise<readonly Figure[]> {
  const messageId = await firstMessage(facts);
  await ask(facts, messageId, FEW);
  await listed(facts, FEW);
  const few = await readAll(facts);
  await ask(facts, messageId, most - FEW);
  await listed(facts, most);
  const many = await readAll(facts);
  return Object.keys(LISTS).flatMap((name) => {
    const [before = Number.NaN, after = Number.NaN] = [few.get(name), many.get(name)];
    return [
      { name: `B12 ${name} p50, ${String(FEW)} open`, value: before, unit: 'ms' },
      { name: `B12 ${name} p50, ${String(most)} open`, value: after, unit: 'ms' },
      ratio(`B12 ${name}, ${String(most)} ÷ ${String(FEW)} open`, after / before, 'less', {
        target: { atMost: MOST_RATIO },
      }),
    ];
  });
}

interface Page {
  readonly items: readonly { readonly id: string }[];
  readonly page: { readonly next_cursor: string | null };
}

/** Throws for every refusal that is not temporary. A temporary one is retried with the same key. */
async function call(facts: DemoFacts, path: string, body?: object): Promise<Page> {
  const authorization = `Bearer ${facts.rest_token}`;
  const sent = {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json', 'idempotency-key': randomUUID() },
    body: JSON.stringify(body),
  };
  for (let tries = 1; ; tries += 1) {
    const response = await fetch(
      `${facts.base_url}/api/v1${path}`,
      body === undefined ? { headers: { authorization } } : sent,
    );
    const answer: unknown = await response.json();
    if (response.ok) return answer as Page;
    if (response.status !== 503 || tries === MOST_TRIES) {
      throw new Error(`${path}: HTTP ${String(response.status)} ${JSON.stringify(answer)}`);
    }
    await sleep(POLL_EVERY_MS);
  }
}

/** The newest message of the demo, once its mailbox is connected. */
async function firstMessage(facts: DemoFacts): Promise<string> {
  const until = Date.now() + LISTED_WITHIN_MS;
  for (;;) {
    const { items } = await call(facts, `/mailboxes/${facts.mailbox_id}/messages?folder=inbox&limit=1`).catch(
      (error: unknown) => {
        if (Date.now() > until) throw error;
        return { items: [] };
      },
    );
    if (items[0]) return items[0].id;
    if (Date.now() > until) throw new Error('the demo has no message');
    await sleep(POLL_EVERY_MS);
  }
}

/** Makes this many requests that wait for a person, all about one message. */
async function ask(facts: DemoFacts, messageId: string, many: number): Promise<void> {
  let left = many;
  const asking = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      await call(facts, `/mailboxes/${facts.mailbox_id}/email.act`, {
        operation: {
          type: 'message_actions',
          select: { message_ids: [messageId] },
          actions: [{ type: 'archive' }],
        },
        authorization: { mode: 'request_approval' },
      });
    }
  };
  await Promise.all(Array.from({ length: ASK_AT_ONCE }, asking));
}

/** Resolves when the read model lists them all. */
async function listed(facts: DemoFacts, many: number): Promise<void> {
  const until = Date.now() + LISTED_WITHIN_MS;
  for (;;) {
    let seen = 0;
    let next: string | null = '';
    while (next !== null) {
      const { items, page } = await call(facts, `/approvals?limit=200${next}`);
      seen += items.length;
      next = page.next_cursor && `&cursor=${page.next_cursor}`;
    }
    if (seen >= many) return;
    if (Date.now() > until) throw new Error(`only ${String(seen)} of ${String(many)} approvals are listed`);
  }
}

/** Median of each list in milliseconds; the lists take turns. */
async function readAll(facts: DemoFacts): Promise<ReadonlyMap<string, number>> {
  const took = new Map<string, number[]>();
  for (let read = 0; read < WARM_UP + READS; read += 1) {
    for (const [name, path] of Object.entries(LISTS)) {
      const begin = performance.now();
      const { items } = await call(facts, path);
      if (items.length !== FEW) throw new Error(`${path}: ${String(items.length)} approvals`);
      if (read >= WARM_UP) took.set(name, [...(took.get(name) ?? []), performance.now() - begin]);
    }
  }
  return new Map([...took].map(([name, all]) => [name, median(all)]));
}
