import { expect } from 'chai';
import fc from 'fast-check';
import type { Filter } from '../../../../commands/mail/mail-filter.ts';
import {
  compareKeysets,
  type Keyset,
  keysetOf,
  type MailQuery,
  type Order,
  ORDERS,
} from '../../../../commands/mail/query.ts';
import type { FetchedMessage, FolderRef } from '../../../../commands/mail/message.ts';
import { type MatchContext, matches } from '../../../../commands/mail/matches.ts';
import { BARE, requireTestDovecot, type TestDovecot } from '../../../support/servers/dovecot.ts';
import { appendMessages, type SeedMessage, withClient } from '../../../support/servers/mail-append.ts';
import {
  ARCHIVE,
  INBOX,
  mailGateway,
  type MailGatewayUnderTest,
  queryOf,
} from '../../../support/worlds/mail-gateway.ts';
import { filterArbitrary } from '../../../support/models/message-arbitrary.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const PROJECT: FolderRef = { number: 3, path: 'Projekte/Größe & Co' };
const FOLDERS = [INBOX, ARCHIVE, PROJECT];
const context: MatchContext = { serverSays: () => false };

const pick = <T>(items: readonly T[], n: number): T => {
  const item = items[n % items.length];
  if (item === undefined) throw new Error('nothing to pick from');
  return item;
};

const subjects = [
  'alpha beta',
  '=?utf-8?Q?=C3=84pfel_na=C3=AFve?=',
  '=?utf-8?B?zp/OlM6fzqM=?=',
  'Stra=?utf-8?Q?=C3=9F?=e',
];
const senders = [
  '=?utf-8?Q?Anna_M=C3=BCller?= <anna@example.com>',
  'bob@Example.org',
  'Carol <carol@mail.example.com>',
];

/** A message decided by its number alone: no run differs from another. */
function messageNo(n: number): SeedMessage {
  const at = new Date(Date.UTC(2025, 0, 1 + ((n * 7) % 40), (n * 5) % 24, n % 60));
  const hasFile = n % 5 === 0;
  const text = `Body number ${String(n)} ${n % 3 === 0 ? 'Überraschung' : 'plain words'}`;
  const part = ['Content-Type: text/plain; charset=utf-8', 'Content-Transfer-Encoding: 8bit', '', text, ''];
  const file = [
    'Content-Type: application/pdf',
    "Content-Disposition: attachment; filename*=utf-8''na%C3%AFve.pdf",
    '',
    'x',
    '',
  ];
  const head = [
    `From: ${pick(senders, n)}`,
    `To: ${pick(senders, n + 1)}`,
    ...(n % 7 === 0 ? [] : [`Date: ${new Date(at.getTime() - n * 3_600_000).toUTCString()}`]),
    ...(n % 11 === 0 ? [] : [`Subject: ${pick(subjects, n)} ${String(n % 4)}`]),
    `Message-ID: <${String(n)}@example.com>`,
    ...(n % 4 === 0 ? [`References: <${n % 8 === 0 ? 'a' : 'b'}@example.com>`] : []),
    'MIME-Version: 1.0',
    ...(n % 6 === 0 ? ['X-Team: Größe'] : []),
    `X-Pad: ${'x'.repeat((n * 37) % 900)}`,
  ];
  const body = hasFile
    ? ['Content-Type: multipart/mixed; boundary=b', '', '--b', ...part, '--b', ...file, '--b--', '']
    : part;
  const flags = ['\\Seen', '\\Flagged', '\\Answered', '$Work', 'later'].filter(
    (_, bit) => ((n * 13) >> bit) & 1,
  );
  return {
    folder: pick(FOLDERS, n).path,
    raw: [...head, ...body].join('\r\n'),
    flags: n % 23 === 0 ? [...flags, '\\Deleted'] : flags,
    receivedAt: at,
  };
}

const TWO_SIZES: Filter[] = [{ size_min: 2 }, { size_min: 3 }];
const COUNT = 240;
const MESSAGES = Array.from({ length: COUNT }, (_, n) => messageNo(n));
const LISTED = MESSAGES.filter(({ flags }) => flags?.includes('\\Deleted') !== true).length;

/** Every message, fetched by its place and not by a query. */
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

const placesOf = (messages: readonly FetchedMessage[]): readonly string[] =>
  messages.map(({ ref }) => `${ref.folder.path}/${String(ref.uid)}`);

/** All pages of a query. */
async function walk({ mail }: MailGatewayUnderTest, query: MailQuery): Promise<readonly FetchedMessage[]> {
  const all: FetchedMessage[] = [];
  let after: Keyset | null = null;
  for (let page = 0; page <= COUNT; page += 1) {
    const asked: MailQuery = { ...query, after };
    const answer = await mail((session) => session.query(asked));
    all.push(...answer.messages);
    expect(answer.messages.length).to.be.at.most(query.limit);
    after = answer.next;
    if (after === null) return all;
    expect(answer.messages.length, 'a page with a cursor is full').to.equal(query.limit);
  }
  throw new Error('the pages do not end');
}

const naive = (all: readonly FetchedMessage[], filter: Filter, order: Order): readonly FetchedMessage[] =>
  all
    .filter((message) => matches(message, filter, context))
    .toSorted((a, b) => compareKeysets(order, keysetOf(a, order), keysetOf(b, order)));

for (const { name, capability } of [
  { name: 'everything Dovecot can', capability: undefined },
  { name: 'IMAP4rev1 only', capability: BARE },
]) {
  describe(`a live query on a server with ${name}`, () => {
    let server: TestDovecot;
    let under: MailGatewayUnderTest;
    let all: readonly FetchedMessage[];

    before(async function () {
      server = await requireTestDovecot(this, capability === undefined ? {} : { capability });
      await appendMessages(server.imap(), 'anna', MESSAGES);
      under = mailGateway(server.imap(), 'anna');
      all = await everything(under);
    });
    after(async () => {
      under.gateway.close();
      await server.dispose();
    });

    it(`returns every message decoded, and none marked for removal ${verifies('contract:4:deleted-hidden')}`, () => {
      expect(all).to.have.length(LISTED);
      const one = all.find(({ messageId }) => messageId === '<5@example.com>');
      expect(one?.subject).to.equal('Äpfel naïve 1');
      expect(one?.attachments.map(({ filename }) => filename)).to.deep.equal(['naïve.pdf']);
      expect(one?.to.map(({ email }) => email)).to.deep.equal(['anna@example.com']);
      expect(one?.from).to.deep.equal([{ name: 'Carol', email: 'carol@mail.example.com' }]);
    });

    it(`equals the naive evaluation in every order and page by page ${verifies('contract:4:live-narrowing')}`, async () => {
      await fc.assert(
        fc.asyncProperty(
          filterArbitrary,
          fc.constantFrom(...ORDERS),
          fc.integer({ min: 3, max: 90 }),
          fc.subarray(FOLDERS, { minLength: 1 }),
          async (filter, order, limit, folders) => {
            const numbers = new Set(folders.map(({ number }) => number));
            const expected = naive(
              all.filter(({ ref }) => numbers.has(ref.folder.number)),
              filter,
              order,
            );
            const query = queryOf({
              folders,
              filter,
              order,
              limit: Math.max(limit, expected.length >> 2),
              depth: 'place',
            });
            expect(placesOf(await walk(under, query))).to.deep.equal(placesOf(expected));
            const counted = await under.mail((session) => session.query({ ...query, countOnly: true }));
            expect(counted.count).to.equal(expected.length);
            expect(counted.evaluatedBy).to.equal('gateway');
          },
        ),
        { numRuns: 25 },
      );
    });

    it('finds messages before the first unseen one where UNSEEN is one of several conditions', async () => {
      const filters: readonly Filter[] = [
        { any: [{ seen: false }, { flagged: false }] },
        { any: [{ answered: false }, { seen: false }, { flagged: false }] },
        { not: { seen: true, flagged: true } },
        // Each holds a key twice, so that the search expresses it with `not` and `or`.
        {
          any: [
            { seen: false, all: TWO_SIZES },
            { flagged: false, all: TWO_SIZES },
          ],
        },
        { seen: true, any: [{ seen: false }, { flagged: false }] },
      ];
      for (const filter of filters) {
        const query = queryOf({ folders: FOLDERS, filter, limit: COUNT, depth: 'place' });
        const expected = naive(all, filter, query.order);
        expect(placesOf(await walk(under, query)), JSON.stringify(filter)).to.deep.equal(placesOf(expected));
      }
    });

    it('evaluates body and header conditions on the server, also inside groups', async () => {
      const count = async (filter: Filter): Promise<number | null> => {
        const query = queryOf({ folders: FOLDERS, filter, countOnly: true });
        const answer = await under.mail((session) => session.query(query));
        expect(answer.evaluatedBy).to.equal('mail_server');
        return answer.count;
      };
      const listed = MESSAGES.map(({ flags }, n) => ({ n, isListed: flags?.includes('\\Deleted') !== true }));
      const where = (test: (n: number) => boolean): number =>
        listed.filter(({ n, isListed }) => isListed && test(n)).length;
      expect(await count({ body_contains: 'ÜBERRASCHUNG' })).to.equal(where((n) => n % 3 === 0));
      expect(await count({ not: { body_contains: 'Überraschung' } })).to.equal(where((n) => n % 3 !== 0));
      expect(await count({ header: { name: 'X-Team', contains: 'größe' } })).to.equal(
        where((n) => n % 6 === 0),
      );
      expect(
        await count({ any: [{ header: { name: 'X-Team', contains: '' } }, { subject_contains: 'apfel' }] }),
      ).to.equal(where((n) => n % 6 === 0 || (n % 11 !== 0 && n % 4 === 1)));
    });

    it('finds by Message-ID', async () => {
      const find = async (filter: Filter): Promise<number> =>
        (await walk(under, queryOf({ folders: FOLDERS, filter }))).length;
      expect(await find({ message_id_header: '17@example.com' })).to.equal(1);
    });
  });
}

describe('a live query over time', () => {
  let server: TestDovecot;
  let under: MailGatewayUnderTest;

  before(async function () {
    server = await requireTestDovecot(this);
  });
  beforeEach(() => {
    under = mailGateway(server.imap(), 'anna', { limits: { maxEvaluated: 60, maxFolderMessages: 130 } });
  });
  afterEach(() => {
    under.gateway.close();
  });
  after(() => server.dispose());

  const inInbox = (from: number, count: number): readonly SeedMessage[] =>
    Array.from({ length: count }, (_, at) => ({ ...messageNo(from + at), folder: 'INBOX', flags: [] }));
  const newest = async (filter: Filter = {}, limit = 200): Promise<readonly string[]> =>
    (await walk(under, queryOf({ filter, limit }))).map(({ messageId }) => messageId ?? '');

  it('follows arrivals and removals on one connection and over several', async () => {
    expect(await newest()).to.deep.equal([]);
    await appendMessages(server.imap(), 'anna', inInbox(0, 10));
    expect(await newest()).to.have.length(10);
    await withClient(server.imap(), 'anna', async (client) => {
      await client.mailboxOpen('INBOX');
      await client.messageDelete('2:4', { uid: true });
    });
    await appendMessages(server.imap(), 'anna', inInbox(10, 3));
    const after = await newest();
    expect(after).to.have.length(10).and.include('<12@example.com>').and.not.include('<2@example.com>');
    await Promise.all([newest(), newest(), newest()]);
    await appendMessages(server.imap(), 'anna', inInbox(13, 1));
    for (const list of await Promise.all([newest(), newest(), newest(), newest()])) {
      expect(list).to.have.length(11).and.include('<13@example.com>');
    }
  });

  it(`refuses a query that needs too many messages, and answers the others ${verifies('contract:4:live-limit', 'contract:4:live-narrowing')}`, async () => {
    await appendMessages(server.imap(), 'anna', inInbox(20, 80));
    const hopeless = queryOf({ filter: { subject_contains: 'nowhere' } });
    const error = await rejection(under.mail((session) => session.query(hopeless)));
    expect(error).to.have.property('code', 'filter_unsupported');
    expect(error).to.have.nested.property('details.limit', 60);
    for (const query of [
      { ...hopeless, countOnly: true },
      { ...hopeless, order: 'subject_asc' as const },
    ]) {
      expect(await rejection(under.mail((session) => session.query(query)))).to.have.property(
        'code',
        'filter_unsupported',
      );
    }
    const narrowed = { ...hopeless, filter: { ...hopeless.filter, flagged: true } };
    expect((await under.mail((session) => session.query(narrowed))).messages).to.deep.equal([]);
    expect(await newest({ size_min: 1 })).to.have.length(91);
    const page = await under.mail((session) =>
      session.query(queryOf({ filter: { subject_contains: 'a' }, limit: 5 })),
    );
    expect(page.messages).to.have.length(5);
    expect(page.next).to.not.equal(null);
  });

  it('refuses to order a folder of more messages than its limit of dates', async () => {
    await appendMessages(server.imap(), 'anna', inInbox(100, 60));
    const error = await rejection(newest());
    expect(error).to.have.property('code', 'filter_unsupported');
    expect(error).to.have.nested.property('details.limit', 130);
  });

  it('reports a folder as gone, and starts again when it was created again', async () => {
    const folder: FolderRef = { number: 8, path: 'Shortlived' };
    const query = queryOf({ folders: [folder] });
    const list = async (): Promise<readonly FetchedMessage[]> =>
      (await under.mail((session) => session.query(query))).messages;
    await appendMessages(server.imap(), 'anna', [{ ...messageNo(1), folder: folder.path, flags: [] }]);
    const [first] = await list();
    await withClient(server.imap(), 'anna', (client) => client.mailboxDelete(folder.path));
    expect(await rejection(list())).to.have.nested.property('details.reason', 'folder_gone');
    await appendMessages(server.imap(), 'anna', [{ ...messageNo(2), folder: folder.path, flags: [] }]);
    const [second] = await list();
    expect(second?.messageId).to.equal('<2@example.com>');
    expect(second?.ref.uidValidity).to.not.equal(first?.ref.uidValidity);
  });
});
