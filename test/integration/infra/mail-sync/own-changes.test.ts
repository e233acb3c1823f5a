import { expect } from 'chai';
import type { OwnChange } from '../../../../commands/ports/change-attribution.ts';
import type { MailSession } from '../../../../commands/ports/mail-port.ts';
import { BARE, requireTestDovecot, type TestDovecot } from '../../../support/servers/dovecot.ts';
import { eventually } from '../../../support/suite/eventually.ts';
import { appendMessages } from '../../../support/servers/mail-append.ts';
import { type SyncRig, startSyncRig } from '../../../support/worlds/mail-sync-rig.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const mail = (id: string): string =>
  `From: Ann <ann@example.com>\r\nSubject: ${id}\r\nMessage-ID: <${id}@example.com>\r\n\r\nHello\r\n`;

for (const capability of [undefined, BARE]) {
  describe(`own changes on a server with ${capability === undefined ? 'all' : 'few'} extensions`, function () {
    this.timeout(60_000);
    let dovecot: TestDovecot;
    let rig: SyncRig;
    let users = 0;
    let user: string;

    before(async function () {
      dovecot = await requireTestDovecot(this, capability === undefined ? {} : { capability });
    });
    after(() => dovecot.dispose());
    beforeEach(async () => {
      users += 1;
      user = `own${String(users)}`;
      await appendMessages(dovecot.imap(), user, [
        { raw: mail('a') },
        { raw: mail('b') },
        { folder: 'Archive', raw: mail('c') },
      ]);
      rig = await startSyncRig(dovecot.imap(), user);
      // Rounds would find it too, later.
      rig.work({ roundEveryMs: 60_000 });
      await eventually(() => rig.entry().state === 'connected');
    });
    afterEach(() => rig.close());

    const uidValidity = async (path: string): Promise<number> => {
      const key = { mailboxNumber: rig.entry().number, folderNumber: rig.folder(path).number };
      return (await rig.index.folder(key))?.uidValidity ?? 0;
    };
    const act = async (
      changes: OwnChange[],
      work: (mail: MailSession) => Promise<unknown>,
    ): Promise<void> => {
      const originator = { mailboxId: rig.mailboxId, operationId: 'opn_1' };
      const expectation = await rig.ports.changeAttribution.expect(originator, changes);
      await rig.gateway.withMailbox(rig.mailboxId, 'interactive', work);
      await expectation.settle(changes);
    };
    const copied = (): OwnChange => ({
      kind: 'arrives',
      folder: rig.folder('Archive').number,
      uidValidity: null,
      fromUid: 1,
      uid: null,
      messageId: '<a@example.com>',
      previousId: null,
    });
    const flagged = async (): Promise<OwnChange> => ({
      kind: 'flags',
      folder: rig.folder('INBOX').number,
      uidValidity: await uidValidity('INBOX'),
      uid: 2,
      add: ['\\Flagged'],
      remove: [],
    });

    it(`are reported as changes of the operation and never as received ${verifies('contract:11:own-changes')}`, async () => {
      const validity = await uidValidity('INBOX');
      await act([copied(), await flagged()], async (session) => {
        await session.copyMessages(rig.folder('INBOX'), validity, [1], rig.folder('Archive'));
        await session.setFlags(rig.folder('INBOX'), validity, [2], { add: ['\\Flagged'], remove: [] });
      });
      await eventually(() => rig.told().length === 2);
      expect(rig.told().every(({ operation_id }) => operation_id === 'opn_1')).to.equal(true);
      await eventually(async () => (await rig.differences()).length === 0);
      await eventually(async () => (await rig.ports.sql.query('select from work.mail_echo')).length === 0);
    });

    it('are in no answer of the index when they are settled', async () => {
      const validity = await uidValidity('INBOX');
      const flags = await flagged();
      await act([flags], (session) =>
        session.setFlags(rig.folder('INBOX'), validity, [2], { add: ['\\Flagged'], remove: [] }),
      );
      const key = { mailboxNumber: rig.entry().number, folderNumber: flags.folder };
      const isTrusted = !(await rig.index.invalidated(key.mailboxNumber)).includes(flags.folder);
      const known = await rig.index.flagsOf(key, 2, 2);
      expect(!isTrusted || known.get(2)?.includes('\\Flagged'), 'old and trusted').to.equal(true);
      await eventually(async () => (await rig.index.invalidated(key.mailboxNumber)).length === 0);
      expect((await rig.index.flagsOf(key, 2, 2)).get(2)).to.include('\\Flagged');
    });

    it('explain no later change when they never took effect', async () => {
      const flags = await flagged();
      await act([flags], () => Promise.resolve());
      await eventually(async () => (await rig.ports.sql.query('select from work.mail_echo')).length === 0);
      await rig.client(async (own) => {
        await own.mailboxOpen('INBOX');
        await own.messageFlagsAdd('2', ['\\Flagged'], { uid: true });
      });
      if (capability !== undefined) return;
      await eventually(() => rig.told().length === 1);
      expect(rig.told()[0]).not.to.have.property('operation_id');
    });
  });
}
