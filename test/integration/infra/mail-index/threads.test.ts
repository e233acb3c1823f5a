import { expect } from 'chai';
import type { Filter } from '../../../../commands/mail/mail-filter.ts';
import type { MailAnswer } from '../../../../commands/ports/mail-port.ts';
import type { MailQuery } from '../../../../commands/mail/query.ts';
import type { FetchedMessage } from '../../../../commands/mail/message.ts';
import { requireTestDovecot, type TestDovecot } from '../../../support/servers/dovecot.ts';
import {
  FENCE_OF_TEST,
  type IndexUnderTest,
  indexUnderTest,
  MAILBOX_ID,
  MAILBOX_NUMBER,
} from '../../../support/worlds/filled-mirror.ts';
import { appendMessages } from '../../../support/servers/mail-append.ts';
import { ARCHIVE, INBOX, queryOf } from '../../../support/worlds/mail-gateway.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const FOLDERS = [INBOX, ARCHIVE];

/** Each names one other, in one of the two ways. */
const CHAIN: readonly (readonly string[])[] = [
  ['t1'],
  ['t2', 'References: <t1>'],
  ['t3', 'In-Reply-To: <t2>'],
  ['t4', 'References: <t3>'],
];

describe('threads of the index', function () {
  this.timeout(60_000);
  let server: TestDovecot;
  let users = 0;

  before(async function () {
    server = await requireTestDovecot(this);
  });
  after(() => server.dispose());

  const mail = (id: string, ...headers: readonly string[]): string =>
    [`From: a@example.com`, `Message-ID: <${id}>`, `Subject: ${id}`, ...headers, '', 'Text', ''].join('\r\n');
  const chain = CHAIN.map(([id = '', ...headers]) => mail(id, ...headers));

  interface Mailbox {
    readonly index: IndexUnderTest;
    readonly user: string;
    /** Takes more messages into the copies; every other one lies elsewhere, as a conversation is one wherever its parts are. */
    readonly add: (...more: string[]) => Promise<void>;
  }

  async function withMail(
    first: readonly string[],
    work: (mailbox: Mailbox) => Promise<void>,
  ): Promise<void> {
    users += 1;
    const user = `threads${String(users)}`;
    const append = (...more: string[]): Promise<void> =>
      appendMessages(
        server.imap(),
        user,
        more.map((raw, at) => ({ raw, folder: at % 2 === 0 ? 'INBOX' : 'Archive' })),
      );
    await appendMessages(server.imap(), user, [{ raw: mail('other'), folder: 'Archive' }]);
    await append(...first);
    await using index = await indexUnderTest(server.imap(), user);
    await index.fill(FOLDERS);
    const add = async (...more: string[]): Promise<void> => {
      await append(...more);
      await index.fill(FOLDERS);
      index.now += 1_000;
    };
    await work({ index, user, add });
  }

  const ask = ({ indexed }: IndexUnderTest, fields: Partial<MailQuery>): Promise<MailAnswer> =>
    indexed.gateway.query(MAILBOX_ID, queryOf({ folders: FOLDERS, ...fields }));
  const subjectsOf = (messages: readonly FetchedMessage[]): readonly (string | null)[] =>
    messages.map(({ subject }) => subject).toSorted();
  const found = async (index: IndexUnderTest, filter: Filter): Promise<readonly (string | null)[]> =>
    subjectsOf((await ask(index, { filter })).messages);
  const idsIn = ({ messages }: Pick<MailAnswer, 'messages'>): readonly (string | undefined)[] => [
    ...new Set(messages.filter(({ subject }) => subject !== 'other').map(({ threadId }) => threadId)),
  ];
  const thread = (root: string): Filter => ({ thread_id: `thr_<${root}>` });

  /** Gives the folder's copy up for lost, as it is while a first pass goes on. */
  const begin = async ({ index }: IndexUnderTest): Promise<void> => {
    const key = { mailboxNumber: MAILBOX_NUMBER, folderNumber: ARCHIVE.number };
    const mirror = await index.folder(key);
    if (mirror === null) throw new Error('no copy');
    const update = { ...key, reset: true, added: [], flags: [], removedUids: [] };
    await index.apply(MAILBOX_ID, FENCE_OF_TEST, { ...update, mirror: { ...mirror, indexedFrom: 2 } });
  };

  it(`are the same for the view, the id and the filter, in the order of arrival and against it ${verifies('contract:4:thread-components')}`, async () => {
    for (const order of [chain, chain.toReversed()]) {
      await withMail([], async ({ index, add }) => {
        for (const raw of order) await add(raw);
        const { threads = [] } = await ask(index, { byThread: true });
        expect(threads.map(subjectsOf)).to.have.deep.members([['t1', 't2', 't3', 't4'], ['other']]);
        const live = await index.indexed.mail((session) =>
          session.query(queryOf({ folders: FOLDERS, byThread: true })),
        );
        expect(live.threads?.map(subjectsOf)).to.deep.equal(threads.map(subjectsOf));
        expect(idsIn(await ask(index, {})), 'one id for all').to.have.length(1);
        for (const id of ['t1', 't2', 't3', 't4']) {
          expect(await found(index, thread(id)), id).to.deep.equal(['t1', 't2', 't3', 't4']);
        }
      });
    }
  });

  it(`answer under either id when a late message joins them ${verifies('contract:1:merged-threads')}`, async () => {
    const first = [mail('c', 'In-Reply-To: <b>'), mail('a'), mail('d', 'References: <b> <c>')];
    await withMail(first, async ({ index, add }) => {
      expect(await found(index, thread('a'))).to.deep.equal(['a']);
      expect(await found(index, thread('b')), 'before its parent is there').to.deep.equal(['c', 'd']);
      await add(mail('b', 'References: <a>'));
      for (const id of ['a', 'b']) {
        expect(await found(index, thread(id)), id).to.deep.equal(['a', 'b', 'c', 'd']);
        const unlike = { all: [{ not: thread(id) }] };
        expect(await found(index, unlike), `not ${id}`).to.deep.equal(['other']);
      }
      expect(await found(index, { any: [thread('b'), { subject_contains: 'other' }] })).to.have.length(5);
      const checked = { ...thread('b'), message_id_header: 'a' };
      expect(await found(index, checked), 'with other conditions').to.deep.equal(['a']);
      const atServer = { ...thread('b'), body_contains: 'Text' };
      expect(await found(index, atServer), 'with what the server knows').to.deep.equal(['a', 'b', 'c', 'd']);
    });
  });

  it('accept circles and ids without brackets, and leave messages without a Message-ID alone', async () => {
    const circle = [mail('x', 'References: <y>'), mail('y', 'References: <x>')];
    const bare = mail('bare').replace('<bare>', 'bare@example.com');
    const nameless = ['From: a@example.com\r\nSubject: none 1\r\n\r\n', 'Subject: none 2\r\n\r\n'];
    await withMail(
      [...circle, bare, mail('answer', 'In-Reply-To: <bare@example.com>'), ...nameless],
      async ({ index }) => {
        for (const root of ['x', 'y']) expect(await found(index, thread(root))).to.deep.equal(['x', 'y']);
        expect(await found(index, thread('bare@example.com'))).to.deep.equal(['answer', 'bare']);
        expect(await found(index, thread('nobody'))).to.deep.equal([]);
        const { threads = [] } = await ask(index, { byThread: true });
        expect(threads.map(subjectsOf)).to.deep.include.members([['none 1'], ['none 2']]);
      },
    );
  });

  it('are read again when a message in another folder merged them, although the page is unchanged', async () => {
    await withMail([mail('a'), mail('else'), mail('b')], async ({ index, user }) => {
      const first = await ask(index, { folders: [INBOX] });
      expect(idsIn(first)).to.have.length(2);
      const inbox = { folders: [INBOX], knownVersion: first.version ?? 'none' };
      expect(await ask(index, inbox)).to.deep.include({ unchanged: true, messages: [] });
      const raw = mail('c', 'References: <a> <b>');
      await appendMessages(server.imap(), user, [{ raw, folder: 'Archive' }]);
      await index.fill([ARCHIVE]);
      expect(idsIn(await ask(index, inbox))).to.have.length(1);
    });
  });

  it('are found for messages that the index does not have yet', async () => {
    await withMail([mail('a'), mail('else'), mail('b')], async ({ index, user }) => {
      const raws = [mail('c', 'In-Reply-To: <b>'), mail('d', 'References: <a> <c>'), mail('new')];
      await appendMessages(
        server.imap(),
        user,
        raws.map((raw) => ({ raw })),
      );
      index.now += 1_000;
      const { messages } = await ask(index, { folders: [INBOX] });
      const of = (subject: string) => messages.find((each) => each.subject === subject);
      expect(of('d')?.threadId).to.equal(of('c')?.threadId);
      expect([of('d')?.threadId, ...(of('d')?.mergedThreads ?? [])]).to.have.members(['thr_<a>', 'thr_<b>']);
      expect(of('new')).to.include({ threadId: 'thr_<new>' }).and.not.have.property('mergedThreads');
      for (const id of ['a', 'b']) {
        const hits = await ask(index, { folders: [INBOX], filter: thread(id) });
        expect(subjectsOf(hits.messages), id).to.include.members(['c', 'd']);
      }
    });
  });

  it(`are unknown while the mirror of any folder is incomplete ${verifies('contract:4:threads-need-index')}`, async () => {
    await withMail(chain, async ({ index }) => {
      await begin(index);
      const inbox = { folders: [INBOX] };
      const { messages } = await ask(index, inbox);
      expect(messages, 'other answers stay').to.have.length(2);
      for (const message of messages) expect(message).to.not.have.property('threadId');
      const refused = [
        ask(index, { ...inbox, byThread: true }),
        ask(index, { ...inbox, filter: thread('t1') }),
        ask(index, { ...inbox, filter: { not: { any: [thread('t1')] } }, countOnly: true }),
        index.indexed.gateway.withThreadIds(MAILBOX_ID, thread('t1')),
      ];
      for (const each of refused) {
        const error = await rejection(each);
        expect(error).to.include({ code: 'index_building' });
        expect(error).to.have.property('details').that.deep.equals({ indexed: 2, total: 5 });
        expect(error).to.have.property('retryAfterSeconds').that.is.greaterThan(0);
      }
      await index.fill(FOLDERS);
      expect(await found(index, thread('t1'))).to.have.length(4);
    });
  });

  it('are filled in steps in a mirror from before threads', async () => {
    await withMail(chain, async ({ index }) => {
      // As the migration leaves it.
      await index.sql.query('delete from mirror.thread_name');
      await index.sql.query('delete from mirror.thread');
      await index.sql.query('update mirror.folder set named_from = default, version = version + 1000');
      expect(idsIn(await ask(index, {}))).to.deep.equal([undefined]);
      expect(await index.index.unnamed(MAILBOX_NUMBER)).to.have.members([INBOX.number, ARCHIVE.number]);
      for (const folder of FOLDERS) {
        expect(await rejection(ask(index, { byThread: true }))).to.include({ code: 'index_building' });
        expect(await index.index.nameSome(MAILBOX_ID, FENCE_OF_TEST, index.keyOf(folder))).to.equal(true);
      }
      expect(idsIn(await ask(index, {}))).to.have.length(1);
      expect(await found(index, thread('t4'))).to.deep.equal(['t1', 't2', 't3', 't4']);
    });
  });
});
