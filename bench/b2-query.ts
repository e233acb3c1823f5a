/**
 * B2: unseen messages with a word in the subject, newest 50: `email.query` from the mirror, the live path,
 * and raw ImapFlow doing the work that each of them replaces, alternating.
 */
import { ImapFlow } from 'imapflow';
import type { MailQuery } from '../commands/mail/query.ts';
import { createEgressGuard } from '../infra/egress/egress-guard.ts';
import { ImapGateway } from '../infra/mail/imap-gateway.ts';
import type { Figure } from './figures.ts';
import { type LargeMailbox, onLargeMailboxes } from './large-mailbox.ts';
import type { DemoFacts } from './processes.ts';

const ROUNDS = 40;
const WARM_UP = 5;
const LIMIT = 50;
/** UIDs in one command: servers limit the length of a line (Dovecot: 64 KiB). */
const MOST_NAMED = 5_000;
const FILTER = { seen: false, subject_contains: 'invoice' };

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

export const measureQuery = (facts: DemoFacts, sizes: readonly number[]): Promise<readonly Figure[]> =>
  onLargeMailboxes(facts, sizes, (mailbox) => measure(facts, mailbox));

async function measure(facts: DemoFacts, mailbox: LargeMailbox): Promise<readonly Figure[]> {
  const { host, port, user, password } = mailbox.imap;
  const raw = new ImapFlow({
    host, port, secure: false, doSTARTTLS: false, auth: { user, pass: password }, logger: false, disableAutoIdle: true,
  }); // prettier-ignore
  const live = liveGateway(mailbox);
  await raw.connect();
  try {
    await raw.mailboxOpen('INBOX');
    const ways = {
      index: () => fromIndex(facts, mailbox),
      live: () => fromServer(live),
      search: () => searchAndFetch(raw),
      same: () => sameWork(raw),
    };
    const times = await alternate(ways, Math.min(LIMIT, mailbox.size / 40));
    const of = `of ${String(mailbox.size)}`;
    const [index, alive] = [median(times.index), median(times.live)];
    const [search, same] = [median(times.search), median(times.same)];
    const isFull = mailbox.size >= 100_000;
    return [
      { name: `B2 index ${of} p50`, value: index, unit: 'ms' },
      { name: `B2 raw search and envelopes ${of} p50`, value: search, unit: 'ms' },
      {
        name: `B2 raw ÷ index ${of}`,
        value: search / index,
        unit: '×',
        ...(isFull && { target: { atLeast: 20 } }),
      },
      { name: `B2 live ${of} p50`, value: alive, unit: 'ms' },
      { name: `B2 live ÷ raw doing the same ${of}`, value: alive / same, unit: '×', target: { atMost: 1.3 } },
    ];
  } finally {
    live.close();
    await raw.logout();
  }
}

/** Milliseconds of each way. Every round runs all of them, so that all run under the same machine load. */
async function alternate<Way extends string>(
  ways: Readonly<Record<Way, () => Promise<number>>>,
  expected: number,
): Promise<Readonly<Record<Way, readonly number[]>>> {
  const names = Object.keys(ways) as Way[];
  const times = Object.fromEntries(names.map((way) => [way, []])) as unknown as Record<Way, number[]>;
  for (let round = 0; round < (ROUNDS + WARM_UP) * names.length; round += 1) {
    const way = names[round % names.length]!; // eslint-disable-line @typescript-eslint/no-non-null-assertion -- below the length
    const begin = performance.now();
    const found = await ways[way]();
    if (found !== expected) throw new Error(`${way} found ${String(found)}`);
    if (round >= WARM_UP * names.length) times[way].push(performance.now() - begin);
  }
  return times;
}

async function fromIndex(facts: DemoFacts, { id }: LargeMailbox): Promise<number> {
  const response = await fetch(`${facts.base_url}/api/v1/mailboxes/${id}/email.query`, {
    method: 'POST',
    headers: { authorization: `Bearer ${facts.rest_token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ select: { folder: 'inbox', filter: FILTER, limit: LIMIT } }),
  });
  if (!response.ok) throw new Error(`HTTP ${String(response.status)} ${await response.text()}`);
  return ((await response.json()) as { items: readonly unknown[] }).items.length;
}

const silent = { info: () => undefined, warn: () => undefined, error: () => undefined };

/** The mail side alone, without a mirror. */
function liveGateway({ imap: { host, port, user, password } }: LargeMailbox): ImapGateway {
  return new ImapGateway({
    loadSettings: () =>
      Promise.resolve({
        imap: { host, port, security: 'none' },
        smtp: null,
        login: { kind: 'password', username: user, password },
      }),
    guard: createEgressGuard(['127.0.0.0/8:*']),
    log: silent,
    onMailboxTrouble: () => undefined,
    onMailboxHealthy: () => undefined,
    providerConnections: 4,
  });
}

async function fromServer(live: ImapGateway): Promise<number> {
  const query: MailQuery = {
    folders: [{ number: 1, path: 'INBOX' }], filter: FILTER, order: 'received_desc', limit: LIMIT, after: null,
    depth: 'envelope', textChars: null, countOnly: false,
  }; // prettier-ignore
  return (await live.query('bench', query)).messages.length;
}

/** What the server matches by its own case rules, in the order of arrival. */
async function searchAndFetch(raw: ImapFlow): Promise<number> {
  const found = await raw.search({ seen: false, subject: FILTER.subject_contains }, { uid: true });
  const page = (Array.isArray(found) ? found : []).slice(-LIMIT);
  return (await envelopesOf(raw, page)).length;
}

/**
 * The work of the live path. A server's search ignores accents and does not sort by date of receipt, so this
 * reads the dates of all unseen messages, then envelopes, newest first, until fifty have the word.
 */
async function sameWork(raw: ImapFlow): Promise<number> {
  const found = await raw.search({ seen: false }, { uid: true });
  const uids = Array.isArray(found) ? found : [];
  const dated = [];
  for (let from = 0; from < uids.length; from += MOST_NAMED) {
    const named = uids.slice(from, from + MOST_NAMED).join(',');
    dated.push(...(await raw.fetchAll(named, { uid: true, internalDate: true }, { uid: true })));
  }
  const newest = dated
    .toSorted((a, b) => Number(b.internalDate) - Number(a.internalDate))
    .map(({ uid }) => uid);
  let hits = 0;
  for (
    let [from, chunk] = [0, 64];
    from < newest.length && hits < LIMIT;
    from += chunk, chunk = Math.min(chunk * 2, 512)
  ) {
    const messages = await envelopesOf(raw, newest.slice(from, from + chunk));
    hits += messages.filter((message) =>
      message.envelope?.subject?.toLowerCase().includes(FILTER.subject_contains),
    ).length;
  }
  return Math.min(hits, LIMIT);
}

const envelopesOf = (raw: ImapFlow, uids: readonly number[]) =>
  raw.fetchAll(uids.join(','), { uid: true, flags: true, envelope: true }, { uid: true });
