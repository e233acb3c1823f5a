import { expect } from 'chai';
import type { OwnChange } from '../../../../commands/ports/change-attribution.ts';
import { lookUpItems } from '../../../../commands/messages/look-up-items.ts';
import { eventually } from '../../../support/suite/eventually.ts';
import { GMAIL_LIKE } from '../../../support/servers/imap-habits.ts';
import { ALL_MAIL, TRASH, LabelledAccount } from '../../../support/servers/fake-gmail/labelled-account.ts';
import { ScriptedImapServer } from '../../../support/servers/scripted-imap.ts';
import { plainMessage } from '../../../support/servers/mail-append.ts';
import { type SyncRig, startSyncRig } from '../../../support/worlds/mail-sync-rig.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const raw = (subject: string): string => plainMessage({ subject, id: `<${subject}@example.org>` });

describe('the feed of a mailbox with labels', function () {
  this.timeout(90_000);
  let server: ScriptedImapServer;
  let rig: SyncRig;
  let end: () => Promise<void>;

  beforeEach(async () => {
    server = await ScriptedImapServer.start(GMAIL_LIKE, new LabelledAccount());
    server.account.create('Work');
    server.account.deliver({ raw: raw('first'), labels: ['INBOX'] });
    rig = await startSyncRig(server.imap(), 'gmail');
    end = rig.work();
    await eventually(async () => (await rig.differences()).length === 0);
  });
  afterEach(async () => {
    await rig.close();
    await server.close();
  });

  /** Kinds by folder; with the paths of the other folders the message lay in. */
  const told = (): readonly string[] =>
    rig.told().map(({ kind, path, also_in = [] }) => {
      const others = rig.entry().folders.filter(({ number }) => also_in.includes(number));
      return [path, kind, ...others.map((folder) => folder.path)].join(' ');
    });
  const settled = async (count: number): Promise<void> => {
    await eventually(
      async () => rig.told().length >= count && (await rig.differences()).length === 0,
      15_000,
    );
  };

  it(`reports a new message as received once in any number of folders ${verifies('contract:11:gmail-received-once')}`, async () => {
    server.account.deliver({ raw: raw('second'), labels: ['INBOX', 'Work'] });
    await settled(3);
    const received = rig.told().filter(({ kind }) => kind === 'received');
    expect(received).to.have.length(1);
    expect(told().filter((line) => line.includes('updated'))).to.have.length(2);
    for (const { kind, also_in, flags_before } of rig.told()) {
      expect(also_in?.length === 0).to.equal(kind === 'received');
      expect(flags_before).to.equal(undefined);
    }
  });

  it('reports a message that leaves a folder as moved, and a removed one as deleted', async () => {
    const { account } = server;
    const [message] = account.folder('INBOX').messages.values();
    if (!message) throw new Error('nothing is there');
    account.remove(message, account.folder('INBOX'));
    await settled(1);
    expect(told()).to.deep.equal([`INBOX moved ${ALL_MAIL}`]);
    account.remove(message, account.folder(ALL_MAIL));
    await settled(2);
    expect(told().at(-1)).to.equal(`${ALL_MAIL} deleted`);
  });

  it('reports a label set by another client as an update of a known message', async () => {
    const { account } = server;
    const [message] = account.folder('INBOX').messages.values();
    if (!message) throw new Error('nothing is there');
    account.copy(message, account.folder('Work'));
    await settled(1);
    const line = told()[0]?.split(' ').slice(0, 2).join(' ');
    expect(line).to.equal('Work updated');
    expect(rig.told()[0]?.also_in).to.have.length(2);
  });

  for (const tellsKnownPlaces of [true, false]) {
    it(`recognises its own archive when its place is ${tellsKnownPlaces ? 'reported' : 'not reported'}`, async () => {
      server.tellsKnownPlaces = tellsKnownPlaces;
      const [inbox, all] = [rig.folder('INBOX'), rig.folder(ALL_MAIL)];
      const { uidValidity } = server.account.folder('INBOX');
      const change: OwnChange = { kind: 'leaves', folder: inbox.number, uidValidity, uid: 1, moved: true };
      const originator = { mailboxId: rig.mailboxId, operationId: 'opn_1' };
      const expectation = await rig.ports.changeAttribution.expect(originator, [change]);
      const outcomes = await rig.gateway.withMailbox(rig.mailboxId, 'interactive', (mail) =>
        mail.moveMessages(inbox, uidValidity, [1], all),
      );
      await expectation.settle([change]);
      const newUidValidity = server.account.folder(ALL_MAIL).uidValidity;
      expect(outcomes.get(1)).to.deep.equal({ outcome: 'done', newUid: 1, newUidValidity });
      await settled(1);
      expect(rig.told().map(({ kind, operation_id }) => [kind, operation_id])).to.deep.equal([
        ['moved', 'opn_1'],
      ]);
    });
  }

  for (const isDone of [true, false]) {
    it(`finds the outcome of an archive interrupted ${isDone ? 'after' : 'before'} its effect`, async () => {
      const { account } = server;
      const [inbox, all] = [account.folder('INBOX'), account.folder(ALL_MAIL)];
      const { locators } = rig.ports;
      const idAt = (path: string, uidValidity: number): string =>
        locators.message({
          mailboxNumber: rig.entry().number,
          folderNumber: rig.folder(path).number,
          uidValidity,
          uid: 1,
        });
      const message_id = idAt('INBOX', inbox.uidValidity);
      const target = { target_uid_validity: all.uidValidity, target_uid_next: all.uidNext };
      const steps = [{ action: 'archive' as const, folder: rig.folder(ALL_MAIL).number, ...target }];
      const targets = [{ message_id, rfc_message_id: '<first@example.org>', stale: false }];
      const [message] = inbox.messages.values();
      if (isDone && message) account.move(message, inbox, all);
      const [result] = await rig.gateway.withMailbox(rig.mailboxId, 'interactive', (mail) =>
        lookUpItems(mail, { mailbox: rig.entry(), locators, targets, steps, results: null }),
      );
      if (isDone) {
        expect(result).to.include({ outcome: 'done', new_message_id: idAt(ALL_MAIL, all.uidValidity) });
      } else {
        expect(result?.error?.code).to.equal('mailbox_unavailable');
      }
    });
  }

  /** All Mail is not looked at until a worker begins anew. */
  const withoutRounds = async (work: () => Promise<void>): Promise<void> => {
    await end();
    const since = new Date();
    end = rig.work({ roundEveryMs: 3_600_000 });
    const current = 'select 1 from work.mailbox_lease where until > now() and current_at > $1';
    await eventually(async () => (await rig.ports.sql.query(current, [since])).length > 0);
    await work();
    await end();
    rig.work();
  };
  const until = async (count: number): Promise<void> => {
    await eventually(() => rig.told().length === count);
  };

  it(`reports no second arrival when the message is archived before All Mail was polled ${verifies('contract:11:gmail-received-once')}`, async () => {
    const { account } = server;
    await withoutRounds(async () => {
      const message = account.deliver({ raw: raw('quick'), labels: ['INBOX'] });
      await until(1);
      account.remove(message, account.folder('INBOX'));
      await until(2);
    });
    await settled(3);
    expect(told()).to.deep.equal(['INBOX received', 'INBOX deleted', `${ALL_MAIL} updated INBOX`]);
  });

  for (const isSeenGone of [true, false]) {
    it(`reports no second arrival when the message returns, ${isSeenGone ? 'seen to be gone meanwhile' : 'all at once'}`, async () => {
      const { account } = server;
      const inbox = account.folder('INBOX');
      await withoutRounds(async () => {
        const message = account.deliver({ raw: raw('back'), labels: ['INBOX'] });
        await until(1);
        account.remove(message, inbox);
        if (isSeenGone) await until(2);
        account.copy(message, inbox);
        await until(3);
      });
      await settled(4);
      expect(told()).to.deep.equal([
        'INBOX received',
        'INBOX deleted',
        'INBOX updated INBOX',
        `${ALL_MAIL} updated INBOX`,
      ]);
    });
  }

  it('has a message in one folder after a move to the trash', async () => {
    const { account } = server;
    const [message] = account.folder('INBOX').messages.values();
    if (!message) throw new Error('nothing is there');
    account.move(message, account.folder('INBOX'), account.folder(TRASH));
    await eventually(async () => (await rig.differences()).length === 0 && rig.told().length === 3);
    const beside = await rig.index.foldersBeside(
      { mailboxNumber: rig.entry().number, folderNumber: rig.folder(TRASH).number },
      [1],
      [],
    );
    expect([...beside]).to.deep.equal([]);
  });
});
