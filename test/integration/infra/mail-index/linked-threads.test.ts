import { expect } from 'chai';
import type { Filter } from '../../../../commands/kernel/mail-filter.ts';
import { requireTestDovecot, type TestDovecot } from '../../../support/dovecot.ts';
import { type IndexUnderTest, indexUnderTest, MAILBOX_ID } from '../../../support/filled-mirror.ts';
import { appendMessages } from '../../../support/mail-append.ts';
import { ARCHIVE, INBOX, queryOf } from '../../../support/mail-gateway.ts';
import { verifies } from '../../../support/verifies.ts';

const FOLDERS = [INBOX, ARCHIVE];

describe('threads that turn out to be one conversation', function () {
  this.timeout(20_000);
  let server: TestDovecot;
  let users = 0;

  before(async function () {
    server = await requireTestDovecot(this);
  });
  after(() => server.dispose());

  const mail = (id: string, ...headers: string[]): string =>
    [`From: a@example.com`, `Message-ID: <${id}>`, `Subject: ${id}`, ...headers, '', 'Text', ''].join('\r\n');

  async function withMail(
    first: readonly string[],
    work: (index: IndexUnderTest, add: (...more: string[]) => Promise<void>) => Promise<void>,
  ): Promise<void> {
    users += 1;
    const user = `linked${String(users)}`;
    // Every other one lies elsewhere: a conversation is one wherever its parts are.
    const add = (...more: string[]): Promise<void> =>
      appendMessages(
        server.imap(),
        user,
        more.map((raw, at) => ({ raw, folder: at % 2 === 0 ? 'INBOX' : 'Archive' })),
      );
    await appendMessages(server.imap(), user, [{ raw: mail('other'), folder: 'Archive' }]);
    await add(...first);
    await using index = await indexUnderTest(server.imap(), user);
    await index.fill(FOLDERS);
    await work(index, async (...more) => {
      await add(...more);
      await index.fill(FOLDERS);
      index.now += 1_000;
    });
  }

  const found = async ({ indexed }: IndexUnderTest, filter: Filter): Promise<readonly (string | null)[]> => {
    const { messages } = await indexed.gateway.query(MAILBOX_ID, queryOf({ folders: FOLDERS, filter }));
    return messages.map(({ subject }) => subject).toSorted();
  };
  const thread = (root: string): Filter => ({ thread_id: `thr_<${root}>` });

  it(`answers under either id once a late message joins them ${verifies('contract:1:merged-threads')}`, async () => {
    await withMail(
      [mail('c', 'In-Reply-To: <b>'), mail('a'), mail('d', 'References: <b> <c>')],
      async (index, add) => {
        expect(await found(index, thread('a'))).to.deep.equal(['a']);
        expect(await found(index, thread('b')), 'before its parent is there').to.deep.equal(['c', 'd']);
        await add(mail('b', 'References: <a>'));
        for (const id of ['a', 'b']) {
          expect(await found(index, thread(id)), id).to.deep.equal(['a', 'b', 'c', 'd']);
          const unlike = { all: [{ not: thread(id) }] };
          expect(await found(index, unlike), `not ${id}`).to.deep.equal(['other']);
        }
        expect(await found(index, { any: [thread('b'), { subject_contains: 'other' }] })).to.have.length(5);
        expect(
          await found(index, { ...thread('b'), subject_contains: 'a' }),
          'with other conditions',
        ).to.deep.equal(['a']);
      },
    );
  });

  it('follows a chain of replies that each name only their parent, and ends in a circle', async () => {
    const chain = Array.from({ length: 5 }, (_, at) =>
      mail(`m${String(at)}`, ...(at === 0 ? [] : [`In-Reply-To: <m${String(at - 1)}>`])),
    );
    const circle = [mail('x', 'References: <y>'), mail('y', 'References: <x>')];
    await withMail([...chain, ...circle], async (index) => {
      for (const root of ['m0', 'm3'])
        expect(await found(index, thread(root)), root).to.deep.equal(['m0', 'm1', 'm2', 'm3', 'm4']);
      for (const root of ['x', 'y']) expect(await found(index, thread(root))).to.deep.equal(['x', 'y']);
      expect(await found(index, thread('nobody'))).to.deep.equal([]);
    });
  });
});
