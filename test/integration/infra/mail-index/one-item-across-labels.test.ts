import { expect } from 'chai';
import fc from 'fast-check';
import type { Keyset, MailQuery } from '../../../../commands/mail/query.ts';
import type { FetchedMessage } from '../../../../commands/mail/message.ts';
import { matches } from '../../../../commands/mail/matches.ts';
import { compareKeysets, keysetOf } from '../../../../commands/mail/query.ts';
import type { LabelledFolder } from '../../../../infra/mail/labelled-folders.ts';
import { type IndexUnderTest, indexUnderTest, MAILBOX_ID } from '../../../support/worlds/filled-mirror.ts';
import { GMAIL_LIKE } from '../../../support/servers/imap-habits.ts';
import {
  ALL_MAIL,
  SPAM,
  TRASH,
  LabelledAccount,
} from '../../../support/servers/fake-gmail/labelled-account.ts';
import { ScriptedImapServer } from '../../../support/servers/scripted-imap.ts';
import { timesOf } from '../../../support/suite/long.ts';
import { plainMessage } from '../../../support/servers/mail-append.ts';
import { queryOf } from '../../../support/worlds/mail-gateway.ts';
import { type Asked, askedQueries } from '../../../support/models/random-mailbox.ts';
import { verifies } from '../../../support/suite/verifies.ts';

/** In home order. */
const FOLDERS: readonly LabelledFolder[] = [
  { number: 4, path: 'INBOX', role: 'inbox' },
  { number: 2, path: 'Größe', role: null },
  { number: 6, path: '[Gmail]/Sent Mail', role: 'sent' },
  { number: 5, path: TRASH, role: 'trash' },
  { number: 3, path: SPAM, role: 'junk' },
  { number: 7, path: '[Gmail]/Starred', role: 'flagged' },
  { number: 1, path: ALL_MAIL, role: 'all_mail' },
];
/** The label as it is written on the wire (RFC 3501 5.1.3). */
const ON_WIRE = 'Gr&APYA3w-e';
const LABELS = ['INBOX', ON_WIRE, '[Gmail]/Sent Mail', '[Gmail]/Starred'];
const MESSAGES = timesOf(60, 300);
const QUERIES = timesOf(40, 800);

const seeds = fc.record({
  subject: fc.constantFrom('alpha beta', 'Re: alpha', 'xxxxx', '100% sure', 'quiet'),
  from: fc.constantFrom('Anna <anna@example.com>', 'bob@example.org', 'Dan <dan@mail.example.com>'),
  flags: fc.subarray(['\\Seen', '\\Flagged', '\\Answered', '$Work']),
  deleted: fc.integer({ min: 0, max: 11 }),
  day: fc.integer({ min: 0, max: 20 }),
  reference: fc.option(fc.constantFrom('<a@threads.example>', '<b@threads.example>')),
  labels: fc.oneof(
    { weight: 6, arbitrary: fc.subarray(LABELS) },
    { weight: 1, arbitrary: fc.constantFrom([TRASH], [SPAM]) },
  ),
});

const onWire = ({ path }: LabelledFolder): string => (path === 'Größe' ? ON_WIRE : path);
const placeOf = ({ ref }: FetchedMessage): string => `${ref.folder.path}/${String(ref.uid)}`;

type Ask = (query: MailQuery) => Promise<{
  readonly messages: readonly FetchedMessage[];
  readonly threads?: readonly (readonly FetchedMessage[])[];
  readonly next: Keyset | null;
  readonly count: number | null;
}>;

async function pagesOf(
  ask: Ask,
  asked: Asked,
  folders: readonly LabelledFolder[],
): Promise<readonly (readonly string[])[]> {
  const pages: (readonly string[])[] = [];
  let after: Keyset | null = null;
  for (let page = 0; page <= MESSAGES; page += 1) {
    const answer = await ask(queryOf({ ...asked, folders, after }));
    pages.push(answer.messages.map(placeOf));
    after = answer.next;
    if (after === null) return pages;
  }
  throw new Error('the pages do not end');
}

describe('a message with several labels', function () {
  this.timeout(timesOf(120_000, 600_000));
  let server: ScriptedImapServer;
  let index: IndexUnderTest;
  /** Every place of every message, and the numbers of all folders it lies in, by the server's own books. */
  let all: readonly { readonly message: FetchedMessage; readonly inFolders: readonly number[] }[];
  let fromIndex: Ask;
  let fromServer: Ask;

  before(async () => {
    server = await ScriptedImapServer.start(GMAIL_LIKE, new LabelledAccount());
    server.account.create(ON_WIRE);
    for (const [at, seed] of fc.sample(seeds, { numRuns: MESSAGES, seed: 14 }).entries()) {
      const { subject, from, reference, labels, day } = seed;
      const headers = reference === null ? [] : [`References: ${reference}`];
      const raw = plainMessage({ subject, from, id: `<${String(at)}@example.org>`, headers });
      const flags = seed.deleted === 0 ? [...seed.flags, '\\Deleted'] : seed.flags;
      server.account.deliver({ raw, labels, flags, receivedAt: new Date(Date.UTC(2025, 0, 1 + day, 12)) });
    }
    index = await indexUnderTest(server.imap(), 'gmail', {}, () => FOLDERS);
    await index.fill(FOLDERS);
    fromIndex = async (query) => {
      const answer = await index.index.query(index.mailbox, query);
      if (answer === null) throw new Error('the index does not answer');
      return answer;
    };
    fromServer = (query) => index.indexed.mail((session) => session.query(query));
    all = await everything();
  });
  after(async () => {
    await index[Symbol.asyncDispose]();
    await server.close();
  });

  async function everything(): Promise<typeof all> {
    const found: (typeof all)[number][] = [];
    for (const folder of FOLDERS) {
      const { messages, uidValidity } = server.account.folder(onWire(folder));
      const refs = [...messages.keys()].map((uid) => ({ folder, uidValidity, uid }));
      const fetched = await index.indexed.mail((session) => session.fetch(refs, 'structure', null));
      for (const message of fetched.filter((each) => each !== null)) {
        const own = messages.get(message.ref.uid);
        const paths = own ? server.account.foldersOf(own).map(({ path }) => path) : [];
        const inFolders = FOLDERS.filter((each) => paths.includes(onWire(each))).map(({ number }) => number);
        found.push({ message, inFolders });
      }
    }
    return found;
  }

  function naivePages({ filter, order, limit }: Asked, folders: readonly LabelledFolder[]) {
    const context = { serverSays: () => false };
    const hits = all
      .filter(({ message, inFolders }) => {
        const home = folders.find(({ number }) => inFolders.includes(number));
        return home?.number === message.ref.folder.number && matches(message, filter, context);
      })
      .map(({ message }) => message)
      .toSorted((a, b) => compareKeysets(order, keysetOf(a, order), keysetOf(b, order)))
      .map(placeOf);
    const pages = Array.from({ length: Math.ceil(hits.length / limit) }, (_, at) =>
      hits.slice(at * limit, (at + 1) * limit),
    );
    return pages.length === 0 ? [[]] : pages;
  }

  const withIdsOfNow = async (asked: Asked): Promise<Asked> => ({
    ...asked,
    filter: await index.indexed.gateway.withThreadIds(MAILBOX_ID, asked.filter),
  });

  const searched = fc
    .subarray([...FOLDERS], { minLength: 1 })
    .map((some) => FOLDERS.filter((folder) => some.includes(folder)));

  it(`is one item of a query over any folders in index, server and plain evaluation ${verifies('contract:4:gmail-one-item', 'contract:4:index-equals-live')}`, async () => {
    const run = fc.asyncProperty(askedQueries, searched, async (asked, folders) => {
      const naive = naivePages(await withIdsOfNow(asked), folders);
      expect(await pagesOf(fromIndex, asked, folders), 'index').to.deep.equal(naive);
      expect(await pagesOf(fromServer, asked, folders), 'live').to.deep.equal(naive);
      const counting = queryOf({ ...asked, folders, countOnly: true });
      expect((await fromIndex(counting)).count, 'index').to.equal(naive.flat().length);
      expect((await fromServer(counting)).count, 'live').to.equal(naive.flat().length);
    });
    await fc.assert(run, { numRuns: QUERIES, seed: 7 });
    expect(naivePages({ filter: {}, order: 'received_desc', limit: 200 }, FOLDERS).flat()).to.have.length(
      new Set(all.map(({ message }) => message.messageId)).size,
    );
  });

  it('is one message of its conversation', async () => {
    const run = fc.asyncProperty(askedQueries, searched, async (asked, folders) => {
      const query = queryOf({ ...asked, folders, byThread: true, limit: 200 });
      const [ours, theirs] = [await fromIndex(query), await fromServer(query)];
      expect(ours.threads?.map((thread) => thread.map(placeOf))).to.deep.equal(
        theirs.threads?.map((thread) => thread.map(placeOf)),
      );
      expect((ours.threads ?? []).flat().map(placeOf).toSorted()).to.deep.equal(
        naivePages(await withIdsOfNow(asked), folders)
          .flat()
          .toSorted(),
      );
    });
    await fc.assert(run, { numRuns: Math.floor(QUERIES / 4), seed: 8 });
  });

  it('names its other folders, from the index as from the server', async () => {
    for (const folders of [FOLDERS, FOLDERS.slice(0, 1), FOLDERS.slice(-1)]) {
      const query = queryOf({ folders, limit: 200 });
      const [ours, theirs] = [await fromIndex(query), await fromServer(query)];
      expect(ours.messages).to.deep.equal(theirs.messages);
      for (const message of ours.messages) {
        const known = all.find((each) => placeOf(each.message) === placeOf(message));
        const others = known?.inFolders.filter((number) => number !== message.ref.folder.number);
        expect(message.alsoIn).to.deep.equal(others?.toSorted((a, b) => a - b));
      }
      expect(ours.messages.length).to.be.greaterThan(5);
    }
  });

  it('is requested from the server while the mirror of any folder is incomplete', async () => {
    const [inbox, ...others] = FOLDERS;
    const query = queryOf({ folders: inbox ? [inbox] : [] });
    expect(await index.index.query(index.mailbox, query)).to.not.equal(null);
    await index.index.invalidate(others.slice(-1).map((folder) => index.keyOf(folder)));
    expect(await index.index.query(index.mailbox, query)).to.equal(null);
    await index.fill(others.slice(-1));
    expect(await index.index.query(index.mailbox, query)).to.not.equal(null);
  });
});
