/**
 * B2: unseen messages with a term in the subject, newest 50: `email.query` from the mirror, the live path, and
 * raw ImapFlow doing the work that each of them replaces, alternating. A term that was asked before is answered
 * from memory: each term is asked once, and the same term again and again is a row of its own.
 */
import type { ImapFlow } from 'imapflow';
import { fromServer, liveGateway } from './b2/live-query.ts';
import { passPerSecond, sameWork, searchAndFetch } from './b2/raw-search.ts';
import { type Figure, median, ratio } from './figures.ts';
import { commonTerms, type LargeMailbox, rareTerms, unseenWith } from './large-mailbox.ts';
import { openRaw } from './mail-site.ts';
import type { DemoFacts } from './processes.ts';
import { post } from './rest.ts';

const ROUNDS = 40;
/** A new statement is planned anew five times on each connection before its plan is kept. */
const WARM_UP = 20;
/** Seconds each in a large mailbox. */
const LIVE_ROUNDS = 6;
const LIMIT = 50;
const REPEATED = 'invoice';
const TARGET_FROM = 100_000;
/** Of the raw pass over the mailbox: its rate does not change after that. */
const MOST_PASSED = 10_000;

export async function measureQuery(
  facts: DemoFacts,
  mailboxes: readonly LargeMailbox[],
): Promise<readonly Figure[]> {
  const figures: Figure[] = [];
  for (const mailbox of mailboxes) figures.push(...(await measure(facts, mailbox)));
  return figures;
}

async function measure(facts: DemoFacts, mailbox: LargeMailbox): Promise<readonly Figure[]> {
  const raw = await openRaw(mailbox.imap);
  const live = liveGateway(mailbox);
  try {
    await raw.mailboxOpen('INBOX');
    const { size } = mailbox;
    const of = `of ${size.toLocaleString('en')}`;
    const asked = ROUNDS + WARM_UP;
    const common = commonTerms(asked);
    const cases: readonly Case[] = [
      { name: 'a common term, new each time', terms: common, atLeast: 12 },
      {
        name: 'a rare term, new each time',
        terms: rareTerms(size, asked),
        atLeast: 20,
        peer: 'search, a rare term',
      },
      {
        name: 'the same again',
        terms: common.map(() => REPEATED),
        atLeast: 20,
        peer: 'search, the same again',
      },
    ];
    const figures = [...(await firstPass(mailbox, raw))];
    for (const one of cases) figures.push(...(await measureIndex(facts, mailbox, raw, one)));
    const [alive = Number.NaN, same = Number.NaN] = await medians(size, common.slice(0, LIVE_ROUNDS), 1, [
      (term) => fromServer(live, term, LIMIT),
      (term) => sameWork(raw, term, LIMIT),
    ]);
    const title = `B2 live ${of}`;
    return [
      ...figures,
      { name: `${title}, p50`, value: alive, unit: 'ms' },
      { name: `${title}, raw doing the same p50`, value: same, unit: 'ms' },
      ratio(`${title} ÷ raw`, alive / same, 'less', { target: { atMost: 1.3 } }),
    ];
  } finally {
    live.close();
    await raw.logout();
  }
}

async function firstPass(
  { size, firstPassPerSecond }: LargeMailbox,
  raw: ImapFlow,
): Promise<readonly Figure[]> {
  const bare = await passPerSecond(raw, Math.min(size, MOST_PASSED));
  const title = `B2 first pass over ${size.toLocaleString('en')}`;
  return [
    { name: title, value: firstPassPerSecond, unit: '/s' },
    { name: `${title}, raw FETCH`, value: bare, unit: '/s' },
    ratio(`${title} ÷ raw`, firstPassPerSecond / bare, 'more'),
  ];
}

interface Case {
  readonly name: string;
  readonly terms: readonly string[];
  /** Times as fast as raw, asked of large mailboxes. */
  readonly atLeast: number;
  readonly peer?: string;
}

async function measureIndex(
  facts: DemoFacts,
  { id, size }: LargeMailbox,
  raw: ImapFlow,
  { name, terms, atLeast, peer }: Case,
): Promise<readonly Figure[]> {
  const [index = Number.NaN, search = Number.NaN] = await medians(size, terms, WARM_UP, [
    (term) => fromIndex(facts, id, term),
    (term) => searchAndFetch(raw, term, LIMIT),
  ]);
  const title = `B2 query of ${size.toLocaleString('en')}, ${name}`;
  const ofPeer = (what: 'p50' | 'raw ÷ peer') =>
    peer !== undefined && size >= TARGET_FROM ? { peer: { operation: peer, what } } : {};
  return [
    { name: `${title}: p50`, value: index, unit: 'ms', ...ofPeer('p50') },
    { name: `${title}: raw search and envelopes p50`, value: search, unit: 'ms' },
    ratio(`${title}: raw ÷ gateway`, search / index, 'more', {
      ...(size >= TARGET_FROM && { target: { atLeast } }),
      ...ofPeer('raw ÷ peer'),
    }),
  ];
}

type Way = (term: string) => Promise<number>;

/**
 * Median milliseconds of each way. Every term is asked in each way before the next, so that all run under the
 * same machine load. Throws when one finds another number of messages than there are.
 */
async function medians(
  size: number,
  terms: readonly string[],
  warmUp: number,
  ways: readonly Way[],
): Promise<readonly number[]> {
  const times = ways.map((): number[] => []);
  const expected = new Map(
    [...new Set(terms)].map((term) => [term, Math.min(LIMIT, unseenWith(size, term))]),
  );
  for (const [round, term] of terms.entries())
    for (const [at, way] of ways.entries()) {
      const begin = performance.now();
      const found = await way(term);
      const ms = performance.now() - begin;
      if (found !== expected.get(term))
        throw new Error(`way ${String(at)} found ${String(found)} of ${term}`);
      if (round >= warmUp) times[at]?.push(ms);
    }
  return times.map(median);
}

async function fromIndex(facts: DemoFacts, id: string, term: string): Promise<number> {
  const filter = { seen: false, subject_contains: term };
  const answer = await post(facts, `mailboxes/${id}/email.query`, {
    select: { folder: 'inbox', filter, limit: LIMIT },
  });
  return (answer as { items: readonly unknown[] }).items.length;
}
