import { expect } from 'chai';
import { type CuttingProxy, startCuttingProxy } from '../../../support/servers/cutting-proxy.ts';
import { BARE, requireTestDovecot, type TestDovecot } from '../../../support/servers/dovecot.ts';
import { eventually } from '../../../support/suite/eventually.ts';
import { appendMessages, plainMessage } from '../../../support/servers/mail-append.ts';
import { queryOf } from '../../../support/worlds/mail-gateway.ts';
import { type RigOptions, type SyncRig, startSyncRig } from '../../../support/worlds/mail-sync-rig.ts';

const mail = (subject: string) => ({ raw: plainMessage({ subject }) });

describe('the watch of a mailbox', function () {
  this.timeout(60_000);
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
  const arrive = (subject: string) => appendMessages(dovecot.imap(), user, [mail(subject)]);
  const idles = () => proxy.transcript.match(/^\w+ IDLE\r$/gm)?.length ?? 0;
  const rounds = () => proxy.transcript.match(/^\w+ LIST /gm)?.length ?? 0;
  /** How INBOX is answered for from the copy. */
  const inbox = async () => {
    const answer = await rig.index.query(rig.whole(), queryOf({ folders: [rig.folder('INBOX')] }));
    return { attested: answer?.states[0]?.attested === true, messages: answer?.messages.length };
  };
  const isConnected = () => rig.entry().state === 'connected';

  it('expunges no message marked by other clients, also in an INBOX reopened for writing', async () => {
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
    await rig.index.invalidate([{ mailboxNumber: rig.entry().number, folderNumber: number }]);
    await eventually(async () => (await rig.index.invalidated(rig.entry().number)).length === 0);
    const uids = await rig.client(async (own) => {
      await own.mailboxOpen('INBOX', { readOnly: true });
      return await own.search({ all: true }, { uid: true });
    });
    expect(uids).to.deep.equal([1, 2]);
    expect(proxy.transcript).to.not.match(/^\w+ CLOSE\r$/m);
  });

  it('receives new mail long before the next round when the server ended the IDLE', async () => {
    await start();
    rig.work({ roundEveryMs: 60_000 });
    await eventually(async () => isConnected() && (await inbox()).attested);
    for (const [at, subject] of ['one', 'two'].entries()) {
      await eventually(() => proxy.endIdle() > 0);
      await arrive(subject);
      await eventually(() => rig.told().length === at + 1);
    }
  });

  it('receives it as soon when the server ends every IDLE at once, with few requests', async () => {
    proxy.endsIdleAtOnce = true;
    await start();
    rig.work({ roundEveryMs: 60_000 });
    await eventually(async () => isConnected() && (await inbox()).attested);
    const [before, since] = [idles(), performance.now()];
    for (const [at, subject] of ['one', 'two'].entries()) {
      await arrive(subject);
      await eventually(() => rig.told().length === at + 1);
    }
    const seconds = (performance.now() - since) / 1_000;
    expect(idles() - before).to.be.at.most(seconds + 3);
  });

  it('polls at intervals and attests nothing when the server refuses the IDLE it offers', async () => {
    proxy.refuse = /^\w+ IDLE\r\n/;
    await start();
    rig.work({ roundEveryMs: 1_500, pollEveryMs: 100 });
    await eventually(async () => isConnected() && idles() > 0 && !(await inbox()).attested);
    const answers: unknown[] = [];
    const before = rounds();
    for (let count = 1; count <= 20 || (count < 200 && rounds() === before); count += 1) {
      await arrive(String(count));
      answers.push((await inbox()).attested);
      await eventually(() => rig.told().length === count);
    }
    expect(rounds() - before, 'not each by a round').to.be.within(1, answers.length - 1);
    expect(answers).to.not.include(true);
    expect(idles()).to.equal(1);
  });
});

describe('the watch of a mailbox with many folders on a slow server without LIST-STATUS', function () {
  this.timeout(60_000);
  const FOLDERS = 20;
  const imapOf = ({ port }: CuttingProxy) => ({ ...dovecot.imap(), port });
  let dovecot: TestDovecot;
  let proxy: CuttingProxy;
  let rig: SyncRig;

  before(async function () {
    dovecot = await requireTestDovecot(this, { capability: BARE });
    proxy = await startCuttingProxy(dovecot.imap());
    proxy.delay = { command: /^\w+ STATUS /, ms: 100 };
    rig = await startSyncRig(dovecot.imap(), 'many', { gatewayImap: imapOf(proxy), commandTimeoutMs: 1_500 });
    await rig.client(async (own) => {
      for (let at = 0; at < FOLDERS; at += 1) await own.mailboxCreate(`Project ${String(at)}`);
    });
  });
  after(async () => {
    await rig.close();
    await proxy.close();
    await dovecot.dispose();
  });

  const said = (command: RegExp) => proxy.transcript.match(command)?.length ?? 0;
  const statuses = () => said(/^\w+ STATUS /gm);
  /** Folders still asked after when the work is ended at the beginning of a list. */
  const askedAfter = async (end: () => Promise<void>): Promise<number> => {
    const lists = said(/^\w+ LIST /gm);
    await eventually(() => said(/^\w+ LIST /gm) > lists);
    const before = statuses();
    await end();
    return statuses() - before;
  };

  it('connects and receives new mail in INBOX while it polls the others', async () => {
    const end = rig.work({ roundEveryMs: 500 });
    await eventually(() => rig.entry().state === 'connected');
    for (const [at, subject] of ['one', 'two'].entries()) {
      const before = statuses();
      await eventually(() => statuses() > before);
      await appendMessages(dovecot.imap(), 'many', [mail(subject)]);
      const asked = statuses();
      await eventually(() => rig.told().length === at + 1);
      expect(statuses() - asked, 'before the end of the round').to.be.below(FOLDERS - 5);
    }
    const trouble = rig.events.all.filter(({ type }) => /Degraded|ConnectionFailed/.test(type));
    expect(trouble).to.deep.equal([]);
    expect(await askedAfter(end), 'in a round').to.be.at.most(3);
  });

  it('ends in the middle of its first list', async () => {
    expect(await askedAfter(rig.work())).to.be.at.most(3);
    const trouble = rig.events.all.filter(({ type }) => /Degraded|ConnectionFailed/.test(type));
    expect(trouble).to.deep.equal([]);
  });
});
