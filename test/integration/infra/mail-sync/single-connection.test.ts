import { expect } from 'chai';
import { requireTestDovecot, type TestDovecot } from '../../../support/servers/dovecot.ts';
import { eventually } from '../../../support/suite/eventually.ts';
import { appendMessages } from '../../../support/servers/mail-append.ts';
import { INBOX, queryOf } from '../../../support/worlds/mail-gateway.ts';
import { type SyncRig, startSyncRig } from '../../../support/worlds/mail-sync-rig.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const mail = (id: string): string =>
  `From: Ann <ann@example.com>\r\nSubject: ${id}\r\nMessage-ID: <${id}@example.com>\r\n\r\nHello\r\n`;

const row = (folder: string, count: number) =>
  Array.from({ length: count }, (_, at) => ({ folder, raw: mail(`${folder}-${String(at)}`) }));

describe('a provider that allows a single connection', function () {
  this.timeout(60_000);
  let dovecot: TestDovecot;
  let rig: SyncRig;

  before(async function () {
    dovecot = await requireTestDovecot(this, { maxUserConnections: 1 });
    await appendMessages(dovecot.imap(), 'anna', [...row('INBOX', 150), ...row('Archive', 150)]);
    rig = await startSyncRig(dovecot.imap(), 'anna', { providerConnections: 1 });
  });
  after(async () => {
    await rig.close();
    await dovecot.dispose();
  });

  // The account has no room for a client of somebody else: what arrives is brought by a caller.
  const arrive = (id: string) =>
    rig.gateway.withMailbox(rig.mailboxId, 'interactive', (session) =>
      session.append(INBOX, Buffer.from(mail(id)), [], new Date()),
    );
  const count = () =>
    rig.gateway.withMailbox(rig.mailboxId, 'interactive', async (session) => {
      const { messages } = await session.query(queryOf({ limit: 1, depth: 'place' }));
      return messages.length;
    });
  const states = () => rig.events.all.map(({ type }) => type).filter((type) => type.startsWith('Mailbox'));

  it(`allows the first pass to finish, with callers in between ${verifies('contract:15:connections')}`, async () => {
    const end = rig.work();
    await eventually(() => rig.entry().state === 'syncing');
    expect(await Promise.all([count(), count(), count()])).to.deep.equal([1, 1, 1]);
    await eventually(() => rig.entry().state === 'connected');
    expect(await dovecot.connectionsOf('anna')).to.equal(1);
    await end();
    await eventually(async () => (await dovecot.connectionsOf('anna')) === 0);
    expect(await rig.differences()).to.deep.equal([]);
    expect(states(), 'never refused')
      .to.not.include('MailboxDegraded')
      .and.not.include('MailboxConnectionFailed');
  });

  it('reports new mail, also right after other new mail', async () => {
    rig.work();
    await eventually(async () => (await dovecot.connectionsOf('anna')) === 1);
    const before = rig.told().length;
    for (const [at, id] of ['one', 'two', 'three'].entries()) {
      await arrive(id);
      await eventually(() => rig.told().length === before + at + 1);
    }
    await Promise.all(Array.from({ length: 10 }, count));
    expect(states()).to.not.include('MailboxDegraded').and.not.include('MailboxConnectionFailed');
  });
});
