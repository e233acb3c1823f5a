import { expect } from 'chai';
import { knownCorrespondents } from '../../../../infra/mail-index/correspondents.ts';
import { requireTestDovecot, type TestDovecot } from '../../../support/servers/dovecot.ts';
import {
  FENCE_OF_TEST,
  type IndexUnderTest,
  indexUnderTest,
  MAILBOX_ID,
  MAILBOX_NUMBER,
} from '../../../support/worlds/filled-mirror.ts';
import { appendMessages, plainMessage } from '../../../support/servers/mail-append.ts';
import { ARCHIVE, INBOX } from '../../../support/worlds/mail-gateway.ts';
import { verifies } from '../../../support/suite/verifies.ts';

describe('the known correspondents of a mailbox', function () {
  this.timeout(60_000);
  let server: TestDovecot;
  let index: IndexUnderTest;

  before(async function () {
    server = await requireTestDovecot(this);
    const mail = (from: string, to: string, folder: string, headers: string[] = []) => ({
      raw: plainMessage({ subject: 'Hello', from, to, headers }),
      folder,
    });
    await appendMessages(server.imap(), 'known', [
      mail('Ann <Ann@example.com>', 'known@example.com, other@example.com', 'INBOX'),
      // The Sent folder here is the one called Archive.
      mail('known@example.com', 'Bob <bob@example.com>', 'Archive', [
        'Cc: müller@example.com',
        'Bcc: bcc@example.com',
      ]),
      mail('known@example.com', '"name@example.com" <real_one@example.com>', 'Archive'),
    ]);
    index = await indexUnderTest(server.imap(), 'known');
    await index.fill([INBOX, ARCHIVE]);
  });
  after(async () => {
    await index[Symbol.asyncDispose]();
    await server.dispose();
  });

  const known = async (addresses: readonly string[], folderNumbers = [INBOX.number, ARCHIVE.number]) => {
    const mail = { mailboxNumber: MAILBOX_NUMBER, folderNumbers, sentNumber: ARCHIVE.number };
    const found = await knownCorrespondents(index.sql, mail, addresses);
    return found && [...found];
  };

  it(`are its senders, and the To, Cc and Bcc of messages in Sent ${verifies('contract:9:contact-warnings')}`, async () => {
    const those = [
      'ann@EXAMPLE.com',
      'bob@example.com',
      'müller@example.com',
      'bcc@example.com',
      'real_one@example.com',
    ];
    expect(await known(those)).to.have.members(those);
  });

  it('exclude other recipients of received mail, names, parts of addresses and look-alikes', async () => {
    const others = [
      'other@example.com',
      'name@example.com',
      'ob@example.com',
      'bob@example.co',
      'muller@example.com',
      'realXone@example.com',
    ];
    expect(await known(others)).to.deep.equal([]);
    expect(await known([])).to.deep.equal([]);
  });

  it('are unknown while the mirror of a folder is missing or incomplete', async () => {
    expect(await known(['ann@example.com'], [INBOX.number, 77])).to.equal(null);
    const key = index.keyOf(ARCHIVE);
    const mirror = await index.index.folder(key);
    if (mirror === null) throw new Error('no copy');
    const update = { ...key, reset: false, added: [], flags: [], removedUids: [] };
    await index.index.apply(MAILBOX_ID, FENCE_OF_TEST, { ...update, mirror: { ...mirror, indexedFrom: 2 } });
    expect(await known(['ann@example.com'])).to.equal(null);
  });
});
