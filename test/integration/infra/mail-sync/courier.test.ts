import { expect } from 'chai';
import { eventually } from '../../../support/suite/eventually.ts';
import { COURIER_LIKE } from '../../../support/servers/imap-habits.ts';
import { plainMessage } from '../../../support/servers/mail-append.ts';
import { type SyncRig, startSyncRig } from '../../../support/worlds/mail-sync-rig.ts';
import { PlainAccount } from '../../../support/servers/plain-account.ts';
import { ScriptedImapServer } from '../../../support/servers/scripted-imap.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const raw = (subject: string): string => plainMessage({ subject, id: `<${subject}@example.org>` });

describe('a mailbox on Courier', function () {
  this.timeout(90_000);
  let server: ScriptedImapServer<PlainAccount>;
  let rig: SyncRig;

  const fill = (path: string, count: number): void => {
    for (let at = 0; at < count; at += 1)
      server.account.deliver({ raw: raw(`${path}-${String(at)}`), labels: [path] });
  };
  const start = async (habits = COURIER_LIKE): Promise<void> => {
    const paths = ['INBOX', 'INBOX.Sent', 'INBOX.Drafts', 'INBOX.Work'];
    server = await ScriptedImapServer.start(habits, new PlainAccount(paths, '.'));
    rig = await startSyncRig(server.imap(), 'courier');
  };
  afterEach(async () => {
    await rig.close();
    await server.close();
  });

  it(`is mirrored completely after the first pass, new folders included ${verifies('contract:4:whole-first-sync')}`, async () => {
    await start();
    fill('INBOX', 171);
    fill('INBOX.Work', 60);
    rig.work();
    await eventually(() => rig.entry().state === 'connected');
    expect(await rig.differences()).to.deep.equal([]);
    server.account.create('INBOX.Late');
    fill('INBOX.Late', 30);
    await eventually(async () => (await rig.differences()).length === 0);
    expect(rig.told(), 'nothing is new of what was there').to.deep.equal([]);
  });

  it('is mirrored completely although the server omits messages from a search', async () => {
    let left = 0;
    await start({
      ...COURIER_LIKE,
      searchLeavesOut: (keys) => {
        if (!/^UID 1:\d+$/.test(keys) || left > 0) return false;
        left += 1;
        return true;
      },
    });
    fill('INBOX', 40);
    rig.work();
    await eventually(() => rig.entry().state === 'connected');
    expect(left).to.equal(1);
    expect(await rig.differences()).to.deep.equal([]);
  });

  it(`accepts a message into a folder that is open by EXAMINE ${verifies('contract:7:append-after-examine')}`, async () => {
    await start();
    const folder = { number: 2, path: 'INBOX.Sent' };
    const place = await rig.gateway.withMailbox(rig.mailboxId, 'interactive', async (mail) => {
      expect(await mail.findByMessageId(folder, '<sent@example.org>', 1)).to.deep.equal([]);
      return await mail.append(folder, Buffer.from(raw('sent')), ['\\Seen'], new Date());
    });
    expect(place).to.deep.equal({ uidValidity: server.account.folder(folder.path).uidValidity, uid: 1 });
    expect(server.account.folder(folder.path).messages.size).to.equal(1);
    expect(server.heard.some((command) => command.startsWith('EXAMINE INBOX.Sent'))).to.equal(true);
  });
});
