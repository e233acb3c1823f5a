import { expect } from 'chai';
import { eventually } from '../../../support/suite/eventually.ts';
import { MODERN } from '../../../support/servers/imap-habits.ts';
import { plainMessage } from '../../../support/servers/mail-append.ts';
import { queryOf } from '../../../support/worlds/mail-gateway.ts';
import { type SyncRig, startSyncRig } from '../../../support/worlds/mail-sync-rig.ts';
import { PlainAccount } from '../../../support/servers/plain-account.ts';
import { ScriptedImapServer } from '../../../support/servers/scripted-imap.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const raw = (subject: string): string => plainMessage({ subject, id: `<${subject}@example.org>` });

for (const most of [1, 2]) {
  describe(`a mail server that lets a user have ${String(most)} of the gateway's connections`, function () {
    this.timeout(90_000);
    let server: ScriptedImapServer<PlainAccount>;
    let rig: SyncRig;

    beforeEach(async () => {
      const account = new PlainAccount(['INBOX', 'Work']);
      server = await ScriptedImapServer.start({ ...MODERN, mostConnections: most }, account);
      for (let at = 0; at < 40; at += 1)
        account.deliver({ raw: raw(`m${String(at)}`), labels: [at % 2 ? 'INBOX' : 'Work'] });
      rig = await startSyncRig(server.imap(), 'anna');
    });
    afterEach(async () => {
      await rig.close();
      await server.close();
    });

    const count = () =>
      rig.gateway.withMailbox(rig.mailboxId, 'interactive', async (mail) => {
        const { messages } = await mail.query(queryOf({ depth: 'place' }));
        return messages.length;
      });
    const states = () => rig.events.all.map(({ type }) => type).filter((type) => type.startsWith('Mailbox'));

    it(`answers all calls one after the other and synchronises ${verifies('contract:15:connection-limit')}`, async () => {
      rig.work();
      await eventually(() => rig.entry().state === 'syncing' || rig.entry().state === 'connected');
      expect(await Promise.all(Array.from({ length: 6 }, count))).to.deep.equal(Array(6).fill(20));
      await eventually(() => rig.entry().state === 'connected');
      server.account.deliver({ raw: raw('late'), labels: ['INBOX'] });
      await eventually(() => rig.told().length > 0);
      expect(await Promise.all(Array.from({ length: 6 }, count))).to.deep.equal(Array(6).fill(21));
      expect(states()).to.not.include('MailboxDegraded').and.not.include('MailboxConnectionFailed');
      expect(server.loggedIn.size).to.be.at.most(most);
    });

    it('gets no second request for a connection it has just refused', async () => {
      rig.work();
      await eventually(() => rig.entry().state === 'connected');
      await Promise.all(Array.from({ length: 6 }, count));
      const logins = (): number => server.heard.filter((command) => command.startsWith('LOGIN')).length;
      const before = logins();
      for (let at = 0; at < 5; at += 1) await Promise.all(Array.from({ length: 6 }, count));
      expect(logins() - before).to.be.at.most(most === 1 ? 0 : 2);
    });
  });
}
