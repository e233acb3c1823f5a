import { expect } from 'chai';
import fc from 'fast-check';
import type { Keyset, MailQuery } from '../../../../commands/mail/query.ts';
import type { FetchedMessage, FolderRef } from '../../../../commands/mail/message.ts';
import { matches } from '../../../../commands/mail/matches.ts';
import { withThreadIds } from '../../../../commands/mail/threads.ts';
import { compareKeysets, keysetOf } from '../../../../commands/mail/query.ts';
import { requireTestDovecot, type TestDovecot } from '../../../support/servers/dovecot.ts';
import { type IndexUnderTest, indexUnderTest, MAILBOX_ID } from '../../../support/worlds/filled-mirror.ts';
import { timesOf } from '../../../support/suite/long.ts';
import { appendMessages } from '../../../support/servers/mail-append.ts';
import {
  ARCHIVE,
  INBOX,
  mailGateway,
  type MailGatewayUnderTest,
  queryOf,
} from '../../../support/worlds/mail-gateway.ts';
import { type Asked, askedQueries, seedMessages } from '../../../support/models/random-mailbox.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const PROJECT: FolderRef = { number: 3, path: 'Projekte/Größe & Co' };
const FOLDERS = [INBOX, ARCHIVE, PROJECT];
const MAILBOXES = timesOf(1, 12);
const MESSAGES = timesOf(120, 600);
const QUERIES = timesOf(60, 1_500);
const LARGE = timesOf(1_000, 5_000);
/** Pages of a query that the server is asked for; the index is asked for all. */
const LIVE_PAGES = timesOf(3, 50);

const placeOf = ({ ref }: FetchedMessage): string => `${ref.folder.path}/${String(ref.uid)}`;

type Ask = (query: MailQuery) => Promise<{
  readonly messages: readonly FetchedMessage[];
  readonly threads?: readonly (readonly FetchedMessage[])[];
  readonly next: Keyset | null;
  readonly count: number | null;
}>;

/** The pages of a query, each as the places of its messages. */
async function pagesOf(ask: Ask, asked: Asked, most = Infinity): Promise<readonly (readonly string[])[]> {
  const pages: (readonly string[])[] = [];
  let after: Keyset | null = null;
  for (let page = 0; page <= MESSAGES; page += 1) {
    if (page === most) return pages;
    const answer = await ask(queryOf({ ...asked, folders: FOLDERS, after }));
    pages.push(answer.messages.map(placeOf));
    after = answer.next;
    if (after === null) return pages;
  }
  throw new Error('the pages do not end');
}

interface Seen {
  readonly all: readonly FetchedMessage[];
  readonly conversations: ReadonlyMap<string, string>;
}

/** What `matches` and `compareKeysets` say of all messages, cut into pages. */
function naivePages(
  { all, conversations }: Seen,
  { filter, order, limit }: Asked,
): readonly (readonly string[])[] {
  const inConversation = (message: FetchedMessage): FetchedMessage => {
    const threadId = conversationOf(message, conversations);
    return threadId === null ? message : { ...message, threadId };
  };
  const asked = withThreadIds(filter, conversations);
  const context = { serverSays: () => false };
  const hits = all
    .filter((message) => matches(inConversation(message), asked, context))
    .toSorted((a, b) => compareKeysets(order, keysetOf(a, order), keysetOf(b, order)))
    .map(placeOf);
  const pages = Array.from({ length: Math.ceil(hits.length / limit) }, (_, at) =>
    hits.slice(at * limit, (at + 1) * limit),
  );
  return pages.length === 0 ? [[]] : pages;
}

/** The thread ids of all names in a message's headers. */
const threadIdsIn = (raw: string): readonly string[] =>
  [...raw.matchAll(/^(?:Message-ID|In-Reply-To|References): .*$/gim)]
    .flatMap(([line]) => line.match(/<[^>]+>/g) ?? [])
    .map((name) => `thr_${name}`);

/** By thread id, one that its whole conversation shares: plain flooding, as often as it takes. Hidden messages connect too. */
function conversationsIn(raws: readonly string[]): ReadonlyMap<string, string> {
  const idsOf = raws.map(threadIdsIn);
  const shared = new Map(idsOf.flat().map((id) => [id, id]));
  for (let changed = true; changed;) {
    changed = false;
    for (const ids of idsOf) {
      const [least = ''] = ids.map((id) => shared.get(id) ?? id).toSorted();
      const others = ids.filter((id) => shared.get(id) !== least);
      for (const id of others) shared.set(id, least);
      changed ||= others.length > 0;
    }
  }
  return shared;
}

/** What a message shares with its conversation; null for one without any Message-ID. */
const conversationOf = (
  message: FetchedMessage,
  conversations: ReadonlyMap<string, string>,
): string | null => {
  const name = message.references[0] ?? message.inReplyTo ?? message.messageId;
  return name === null ? null : (conversations.get(`thr_${name}`) ?? null);
};

/** Every message that is not marked `\Deleted`, fetched by its place and not by a query. */
async function everything({ mail }: MailGatewayUnderTest): Promise<readonly FetchedMessage[]> {
  return await mail(async (session) => {
    const all: FetchedMessage[] = [];
    for (const folder of FOLDERS) {
      const { uidValidity, uidNext } = await session.folderStatus(folder);
      const refs = Array.from({ length: uidNext - 1 }, (_, at) => ({ folder, uidValidity, uid: at + 1 }));
      const fetched = await session.fetch(refs, 'structure', null);
      all.push(...fetched.filter((message) => message !== null));
    }
    return all;
  });
}

/** Random ones find little in common words; these are asked of a large mailbox. */
const OF_LARGE: readonly Asked[] = [
  { filter: { seen: false, subject_contains: 'alpha' }, order: 'received_desc', limit: 50 },
  { filter: { subject_contains: 'istanbul' }, order: 'received_asc', limit: 50 },
  { filter: { any: [{ from_domain: 'example.com' }, { keyword: '$work' }] }, order: 'sent_desc', limit: 200 },
  { filter: { not: { any_address: 'anna' }, has_attachment: true }, order: 'size_asc', limit: 50 },
  { filter: { flagged: true }, order: 'subject_asc', limit: 200 },
  { filter: { sent_after: '2025-01-05T00:00:00Z' }, order: 'from_asc', limit: 200 },
];

describe('answers from the index', function () {
  this.timeout(timesOf(120_000, 1_800_000));
  let server: TestDovecot;

  before(async function () {
    server = await requireTestDovecot(this);
  });
  after(() => server.dispose());

  it(`equal the live answers for ${String(LARGE)} messages`, async () => {
    const seeds = fc.sample(seedMessages([INBOX.path]), { numRuns: LARGE, seed: 5_000 });
    await appendMessages(server.imap(), 'large', seeds);
    const live = mailGateway(server.imap(), 'large');
    try {
      await using index = await indexUnderTest(server.imap(), 'large');
      await index.fill([INBOX]);
      for (const asked of OF_LARGE) {
        const query = queryOf({ ...asked, depth: 'envelope' });
        const ours = await index.index.query(index.mailbox, query);
        const theirs = await live.gateway.query(MAILBOX_ID, query);
        expect(ours?.messages.map(placeOf), JSON.stringify(asked)).to.deep.equal(
          theirs.messages.map(placeOf),
        );
        expect(ours?.next).to.deep.equal(theirs.next);
        expect(theirs.messages).to.have.length.greaterThan(0);
      }
    } finally {
      live.gateway.close();
    }
  });

  for (let mailbox = 0; mailbox < MAILBOXES; mailbox += 1) {
    describe(`of random mailbox ${String(mailbox + 1)}`, () => {
      const user = `random${String(mailbox)}`;
      let index: IndexUnderTest;
      let all: readonly FetchedMessage[];
      let conversations: ReadonlyMap<string, string>;
      let fromIndex: Ask;
      let fromServer: Ask;

      before(async () => {
        const seeds = fc.sample(seedMessages(FOLDERS.map(({ path }) => path)), {
          numRuns: MESSAGES,
          seed: 20_260 + mailbox,
        });
        await appendMessages(server.imap(), user, [
          ...FOLDERS.map(({ path }) => ({ folder: path, raw: 'Subject: first\r\n\r\nHello\r\n' })),
          ...seeds,
        ]);
        index = await indexUnderTest(server.imap(), user);
        await index.fill(FOLDERS);
        all = await everything(index.indexed);
        conversations = conversationsIn(seeds.map(({ raw }) => String(raw)));
        fromIndex = async (query) => {
          const answer = await index.index.query(index.mailbox, query);
          if (answer === null) throw new Error('the index does not answer');
          return answer;
        };
        fromServer = (query) => index.indexed.mail((session) => session.query(query));
      });
      after(async () => {
        await index[Symbol.asyncDispose]();
      });

      it(`equal the live ones and the plain evaluation, page by page, in every order ${verifies('contract:4:index-equals-live', 'contract:4:filter-keys', 'contract:4:filter-groups', 'contract:4:orders')}`, async () => {
        const run = fc.asyncProperty(askedQueries, async (asked) => {
          const naive = naivePages({ all, conversations }, asked);
          expect(await pagesOf(fromIndex, asked), 'index').to.deep.equal(naive);
          const live = await pagesOf(fromServer, asked, LIVE_PAGES);
          expect(live, 'live').to.deep.equal(naive.slice(0, LIVE_PAGES));
        });
        await fc.assert(run, { numRuns: QUERIES, seed: 42 + mailbox });
      });

      it('have the right count', async () => {
        const run = fc.asyncProperty(askedQueries, async ({ filter }) => {
          const query = queryOf({ filter, folders: FOLDERS, countOnly: true });
          const naive = naivePages(
            { all, conversations },
            { filter, order: 'received_desc', limit: MESSAGES * 2 },
          ).flat().length;
          expect((await fromIndex(query)).count).to.equal(naive);
          expect((await fromServer(query)).count).to.equal(naive);
        });
        await fc.assert(run, { numRuns: Math.floor(QUERIES / 3), seed: 77 + mailbox });
      });

      it('equal the live messages in every field', async () => {
        const query = queryOf({ folders: FOLDERS, limit: 200, depth: 'structure' });
        const { messages } = await fromIndex(query);
        expect(messages).to.deep.equal((await fromServer(query)).messages);
        // Dovecot shows a message in one folder.
        for (const message of messages) expect(message).to.not.have.any.keys('providerId', 'alsoIn');
      });

      it(`have one thread id per component of References and In-Reply-To ${verifies('contract:4:thread-components')}`, () => {
        const pairs = all.map((message) =>
          [message.threadId, conversationOf(message, conversations)].join(' '),
        );
        const distinct = [...new Set(pairs)].map((pair) => pair.split(' '));
        expect(distinct.length).to.be.greaterThan(5);
        for (const side of [0, 1]) {
          expect(new Set(distinct.map((pair) => pair[side])).size).to.equal(distinct.length);
        }
      });

      it(`have the same conversations as the live ones ${verifies('contract:4:view-threads')}`, async () => {
        const run = fc.asyncProperty(askedQueries, async (asked) => {
          let after: Keyset | null = null;
          const seen: string[] = [];
          for (let page = 0; page <= MESSAGES; page += 1) {
            const query = queryOf({ ...asked, folders: FOLDERS, byThread: true, after });
            const [ours, theirs] = [await fromIndex(query), await fromServer(query)];
            expect(ours.threads?.map((thread) => thread.map(placeOf))).to.deep.equal(
              theirs.threads?.map((thread) => thread.map(placeOf)),
            );
            expect(ours.threads?.map(([newest]) => newest)).to.deep.equal(
              theirs.threads?.map(([newest]) => newest),
            );
            expect(ours.next).to.deep.equal(theirs.next);
            seen.push(...(ours.threads ?? []).flat().map(placeOf));
            after = ours.next;
            if (after === null) break;
          }
          expect(after).to.equal(null);
          expect(seen.toSorted(), 'every match, once').to.deep.equal(
            naivePages({ all, conversations }, asked).flat().toSorted(),
          );
        });
        await fc.assert(run, { numRuns: Math.floor(QUERIES / 8), seed: 99 + mailbox });
      });
    });
  }
});
