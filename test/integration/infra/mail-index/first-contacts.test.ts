import { expect } from 'chai';
import type { FirstContacts, MailQuery } from '../../../../commands/mail/query.ts';
import { firstContacts } from '../../../../infra/mail-index/first-contacts.ts';
import { requireTestDovecot, type TestDovecot } from '../../../support/servers/dovecot.ts';
import {
  FENCE_OF_TEST,
  type IndexUnderTest,
  indexUnderTest,
  MAILBOX_ID,
  MAILBOX_NUMBER,
} from '../../../support/worlds/filled-mirror.ts';
import { appendMessages, plainMessage } from '../../../support/servers/mail-append.ts';
import { ARCHIVE, INBOX, queryOf } from '../../../support/worlds/mail-gateway.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const FOLDERS = [INBOX, ARCHIVE];

describe('the first message of a sender', function () {
  this.timeout(60_000);
  let server: TestDovecot;
  let index: IndexUnderTest;

  before(async function () {
    server = await requireTestDovecot(this);
    const mail = (subject: string, from: string, day: number, folder = 'INBOX') => ({
      raw: plainMessage({ subject, from }),
      folder,
      receivedAt: new Date(Date.UTC(2025, 0, day)),
    });
    await appendMessages(server.imap(), 'contacts', [
      // Moved in late: the higher UID has the earlier time.
      mail('second', 'Ann <ann@example.com>', 3),
      mail('first', 'ANN@example.com', 2),
      mail('old', 'bob@example.com', 1, 'Archive'),
      mail('again', 'Bob of Sales <bob@example.com>', 4),
      mail('like bob', 'bob@example.com.evil.test', 5),
      mail('nobody', '', 6),
    ]);
    index = await indexUnderTest(server.imap(), 'contacts');
    await index.fill(FOLDERS);
  });
  after(async () => {
    await index[Symbol.asyncDispose]();
    await server.dispose();
  });

  /** By subject; the query itself must tell the same. */
  const told = async (folderNumbers = FOLDERS.map(({ number }) => number)) => {
    const answer = await index.indexed.gateway.query(
      MAILBOX_ID,
      queryOf({ folders: [INBOX], depth: 'structure', contactsIn: folderNumbers }),
    );
    const { messages } = await index.indexed.gateway.query(
      MAILBOX_ID,
      queryOf({ folders: FOLDERS, depth: 'structure' }),
    );
    const found = await firstContacts(index.sql, { mailboxNumber: MAILBOX_NUMBER, folderNumbers }, messages);
    const bySubject = (each: FirstContacts) =>
      new Map([...each].map(([{ subject }, isFirst]) => [subject, isFirst]));
    const inInbox = found && new Map([...found].filter(([{ ref }]) => ref.folder.number === INBOX.number));
    expect(answer.firstContacts && bySubject(answer.firstContacts)).to.deep.equal(
      inInbox && bySubject(inInbox),
    );
    return found && bySubject(found);
  };

  it('is told by a query only where the caller asks, and where what it reads is what is shown', async () => {
    const contactsIn = FOLDERS.map(({ number }) => number);
    const asked = (fields: Partial<MailQuery>) =>
      index.indexed.gateway.query(
        MAILBOX_ID,
        queryOf({ folders: [INBOX], depth: 'structure', contactsIn, ...fields }),
      );
    const found = await asked({ filter: { subject_contains: 'FIRST' } });
    expect(found.messages.map((message) => found.firstContacts?.get(message))).to.deep.equal([true]);
    for (const fields of [
      { contactsIn: undefined },
      { depth: 'place' },
      { textChars: 10 },
      { byThread: true },
      { filter: { message_id_header: '<none@example.com>' } },
    ] as const)
      expect((await asked(fields as Partial<MailQuery>)).firstContacts, JSON.stringify(fields)).to.equal(
        undefined,
      );
  });

  it(`is the earliest from that address in any folder ${verifies('contract:4:first-contact')}`, async () => {
    expect(await told()).to.deep.equal(
      new Map([
        ['like bob', true],
        ['again', false],
        ['second', false],
        ['first', true],
        ['old', true],
      ]),
    );
  });

  it(`counts only the folders that are given ${verifies('contract:4:first-contact')}`, async () => {
    const isFirst = await told([INBOX.number]);
    expect(isFirst?.get('again'), 'the older one is in Archive').to.equal(true);
    expect(isFirst?.get('second')).to.equal(false);
  });

  it(`is unknown while the mirror of a folder is missing or incomplete ${verifies('contract:4:first-contact')}`, async () => {
    expect(await told([INBOX.number, ARCHIVE.number, 77])).to.equal(null);
    const key = index.keyOf(ARCHIVE);
    const mirror = await index.index.folder(key);
    if (mirror === null) throw new Error('no copy');
    const update = { ...key, reset: false, added: [], flags: [], removedUids: [] };
    await index.index.apply(MAILBOX_ID, FENCE_OF_TEST, { ...update, mirror: { ...mirror, indexedFrom: 2 } });
    expect(await told()).to.equal(null);
  });
});
