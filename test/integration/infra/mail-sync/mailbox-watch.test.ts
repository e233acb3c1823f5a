import { expect } from 'chai';
import { type CuttingProxy, startCuttingProxy } from '../../../support/cutting-proxy.ts';
import { requireTestDovecot, type TestDovecot } from '../../../support/dovecot.ts';
import { eventually } from '../../../support/eventually.ts';
import { appendMessages, plainMessage } from '../../../support/mail-append.ts';
import { type RigOptions, type SyncRig, startSyncRig } from '../../../support/mail-sync-rig.ts';

const mail = (subject: string) => ({ raw: plainMessage({ subject }) });

describe('the watch of a mailbox', function () {
  this.timeout(20_000);
  let dovecot: TestDovecot;
  let proxy: CuttingProxy;
  let rig: SyncRig;
  let users = 0;
  let user: string;

  before(async function () {
    dovecot = await requireTestDovecot(this);
  });
  after(() => dovecot.dispose());
  beforeEach(async () => {
    users += 1;
    user = `watch${String(users)}`;
    proxy = await startCuttingProxy(dovecot.imap());
  });
  afterEach(async () => {
    await rig.close();
    await proxy.close();
  });

  const start = async (options: RigOptions = {}): Promise<void> => {
    const gatewayImap = { ...dovecot.imap(), port: proxy.port };
    rig = await startSyncRig(dovecot.imap(), user, { gatewayImap, ...options });
  };
  const isConnected = () => rig.entry().state === 'connected';

  it('expunges nothing that others only marked as deleted, also in an INBOX it got back open for writing', async () => {
    await appendMessages(dovecot.imap(), user, [mail('kept'), mail('marked')]);
    await start({ providerConnections: 1 });
    rig.work();
    await eventually(isConnected);
    const { number, path } = rig.folder('INBOX');
    const validity = await rig.client(async (own) => Number((await own.mailboxOpen('INBOX')).uidValidity));
    await rig.gateway.withMailbox(rig.mailboxId, 'interactive', (session) =>
      session.setFlags({ number, path }, validity, [1], { add: ['\\Flagged'], remove: [] }),
    );
    await rig.client(async (own) => {
      await own.mailboxOpen('INBOX');
      await own.messageFlagsAdd('2', ['\\Deleted'], { uid: true });
    });
    await eventually(() => rig.told().some(({ uid }) => uid === 2));
    await eventually(async () => (await rig.differences()).length === 0);
    // The next round finds that INBOX has to be looked at.
    await rig.index.distrust([{ mailboxNumber: rig.entry().number, folderNumber: number }]);
    await eventually(async () => (await rig.index.distrusted(rig.entry().number)).length === 0);
    const uids = await rig.client(async (own) => {
      await own.mailboxOpen('INBOX', { readOnly: true });
      return await own.search({ all: true }, { uid: true });
    });
    expect(uids).to.deep.equal([1, 2]);
    expect(proxy.transcript).to.not.match(/^\w+ CLOSE\r$/m);
  });
});
