import { expect } from 'chai';
import type { HostSettings } from '../../../../commands/ports/mail-port.ts';
import { createEgressGuard } from '../../../../infra/egress/egress-guard.ts';
import { type CuttingProxy, startCuttingProxy } from '../../../support/servers/cutting-proxy.ts';
import { PASSWORD, requireTestDovecot, type TestDovecot } from '../../../support/servers/dovecot.ts';
import { appendMessages, plainMessage, withClient } from '../../../support/servers/mail-append.ts';
import { INBOX, mailGateway, queryOf } from '../../../support/worlds/mail-gateway.ts';
import { eventually } from '../../../support/suite/eventually.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const CREDENTIALS = { kind: 'password', username: 'anna', password: PASSWORD } as const;

describe('connections to a mailbox', () => {
  let server: TestDovecot;
  let proxy: CuttingProxy;
  let viaProxy: HostSettings;

  before(async function () {
    server = await requireTestDovecot(this, { maxUserConnections: 5 });
    await appendMessages(server.imap(), 'anna', [{ raw: plainMessage({ subject: 'one' }) }]);
    proxy = await startCuttingProxy({ host: server.host, port: server.ports.imap });
    viaProxy = { host: '127.0.0.1', port: proxy.port, security: 'none' };
  });
  after(async () => {
    await proxy.close();
    await server.dispose();
  });

  it(`keep a connection for the next caller and never lend more than the limit ${verifies('contract:15:connections')}`, async () => {
    // One is the watch's.
    const under = mailGateway(viaProxy, 'anna', { providerConnections: 3 });
    const before = proxy.connections;
    let most = 0;
    let now = 0;
    // The first to be lent a connection waits for the second, however long its login takes.
    const both = Promise.withResolvers<undefined>();
    const work = (): Promise<unknown> =>
      under.mail(async (session) => {
        now += 1;
        most = Math.max(most, now);
        if (now === 2) both.resolve(undefined);
        await both.promise;
        await session.query(queryOf());
        now -= 1;
      });
    await Promise.all(Array.from({ length: 8 }, work));
    await work();
    expect(most).to.equal(2);
    expect(proxy.connections - before).to.equal(2);
    expect(under.healthy).to.equal(2);
    expect(under.gateway.connections).to.equal(2);
    under.gateway.close();
    expect(under.gateway.connections).to.equal(0);
  });

  it('keep one connection free of bulk work', async () => {
    const under = mailGateway(server.imap(), 'anna', { providerConnections: 3, limits: { waitMs: 50 } });
    const { gateway } = under;
    await gateway.withMailbox('mbx_test', 'bulk', async () => {
      const error = await rejection(gateway.withMailbox('mbx_test', 'bulk', () => Promise.resolve()));
      expect(error).to.have.property('code', 'overloaded');
      const { messages } = await under.mail((session) => session.query(queryOf()));
      expect(messages).to.have.length(1);
    });
    gateway.close();
  });

  it('give a worker a new connection, and a kept one only when the limit is reached', async () => {
    for (const [providerConnections, opened] of [
      [3, 2],
      [1, 1],
    ] as const) {
      const under = mailGateway(viaProxy, 'anna', { providerConnections });
      const before = proxy.connections;
      await under.mail((session) => session.query(queryOf()));
      await under.gateway.withConnection('mbx_test', (connection) => connection.open('Archive', 'read'));
      await under.mail((session) => session.query(queryOf()));
      expect(proxy.connections - before).to.equal(opened);
      under.gateway.close();
    }
  });

  it('open a folder again after it was doubted, also when that happens while it is opened', async () => {
    const under = mailGateway(viaProxy, 'anna', { providerConnections: 1 });
    const opened: boolean[] = [];
    const isOpenForWriting = () =>
      under.gateway.withConnection(
        'mbx_test',
        (connection) => {
          opened.push(connection.openForWriting('Archive') !== null);
          return Promise.resolve();
        },
        true,
      );
    await under.gateway.withConnection('mbx_test', (connection) => connection.open('Archive', 'write'), true);
    await isOpenForWriting();
    under.gateway.doubtFolders('mbx_test');
    await isOpenForWriting();
    await under.gateway.withConnection(
      'mbx_test',
      async (connection) => {
        const opening = connection.open('Archive', 'write');
        under.gateway.doubtFolders('mbx_test');
        await opening;
      },
      true,
    );
    await isOpenForWriting();
    await under.gateway.withConnection(
      'mbx_test',
      async (connection) => {
        await connection.reopen('Archive');
        await connection.open('Archive', 'write');
      },
      true,
    );
    await isOpenForWriting();
    expect(opened).to.deep.equal([true, false, false, true]);
    under.gateway.close();
  });

  it('give a worker the connection that callers used longest ago', async () => {
    const under = mailGateway(viaProxy, 'anna', { providerConnections: 3 });
    const list = () => under.mail((session) => session.query(queryOf()));
    const both = Promise.withResolvers<undefined>();
    const other = under.mail(() => both.promise);
    await under.mail(() => {
      both.resolve(undefined);
      return other;
    });
    await list();
    const before = proxy.connections;
    await under.gateway.withConnection('mbx_test', (connection) => connection.open('Archive', 'read'));
    proxy.transcript = '';
    expect((await list()).messages).to.have.length(1);
    expect(proxy.transcript)
      .to.match(/FETCH/)
      .and.not.match(/SELECT|EXAMINE/);
    expect(proxy.connections).to.equal(before);
    under.gateway.close();
  });

  it('repeat a read once when the server ended a kept connection', async () => {
    const under = mailGateway(viaProxy, 'anna');
    await under.mail((session) => session.query(queryOf()));
    proxy.cutAt(/NOOP/, 'before');
    const { messages } = await under.mail((session) => session.query(queryOf()));
    expect(messages).to.have.length(1);
    expect(under.troubles).to.deep.equal([]);
    under.gateway.close();
  });

  it('repeat no read when its connection had answered before', async () => {
    const under = mailGateway(viaProxy, 'anna');
    proxy.cutAt(/FETCH/, 'before');
    const error = await rejection(under.mail((session) => session.query(queryOf())));
    expect(error).to.have.property('code', 'mailbox_unavailable');
    expect(error).to.have.nested.property('details.reason', 'connection_lost');
    expect(under.troubles.map(({ code }) => code)).to.deep.equal(['mailbox_unavailable']);
    under.gateway.close();
  });

  it('end the wait for a silent server after the command timeout', async () => {
    const under = mailGateway(viaProxy, 'anna', { limits: { commandTimeoutMs: 150 } });
    proxy.cutAt(/FETCH/, 'hang');
    const error = await rejection(under.mail((session) => session.query(queryOf())));
    expect(error).to.have.nested.property('details.reason', 'timeout');
    expect(error).to.have.property('retryAfterSeconds').that.is.above(0);
    under.gateway.close();
  });

  it(`distinguish a refused login from a server that lets no user in ${verifies('contract:4:mailbox-auth-failed')}`, async () => {
    const refused = mailGateway(server.imap(), 'anna', { password: 'wrong' });
    const error = await rejection(refused.mail((session) => session.listFolders()));
    expect(error).to.have.property('code', 'mailbox_auth_failed');
    expect(refused.troubles.map(({ code }) => code)).to.deep.equal(['mailbox_auth_failed']);
    refused.gateway.close();

    const limited = mailGateway(server.imap(), 'limited', { providerConnections: 9 });
    const held = Promise.withResolvers<undefined>();
    const lent: Promise<unknown>[] = [];
    for (let n = 0; n < 5; n += 1) {
      await new Promise<void>((started) => {
        const hold = limited.mail(() => {
          started();
          return held.promise;
        });
        lent.push(hold);
      });
    }
    const other = mailGateway(server.imap(), 'limited');
    const refusal = await rejection(other.mail(() => Promise.resolve()));
    expect(refusal).to.have.property('code', 'mailbox_unavailable');
    expect(refusal).to.have.nested.property('details.server_code', 'LIMIT');
    expect(other.troubles).to.have.length(1);
    const waiting = limited.mail(() => Promise.resolve('served'));
    held.resolve(undefined);
    await Promise.all(lent);
    expect(await waiting, 'in its turn').to.equal('served');
    expect(limited.troubles).to.deep.equal([]);
    limited.gateway.close();
    other.gateway.close();
  });

  it('try a refused password again only when it was changed', async () => {
    let password = 'wrong';
    const loadSettings = () =>
      Promise.resolve({ imap: viaProxy, smtp: null, login: { ...CREDENTIALS, password } });
    const under = mailGateway(viaProxy, 'anna', { loadSettings });
    await rejection(under.mail((session) => session.listFolders()));
    const attempts = proxy.connections;
    const again = await rejection(under.mail((session) => session.listFolders()));
    expect(again).to.have.property('code', 'mailbox_auth_failed');
    expect(proxy.connections).to.equal(attempts);

    password = PASSWORD;
    await under.gateway.disconnect('mbx_test');
    expect(await under.mail((session) => session.listFolders())).to.have.length(6);
    under.gateway.close();
  });

  it('end lent connections when they return, and the others at once', async () => {
    const under = mailGateway(viaProxy, 'anna');
    const before = proxy.connections;
    await under.mail(async (session) => {
      await under.gateway.disconnect('mbx_test');
      expect((await session.query(queryOf())).messages).to.have.length(1);
    });
    await under.mail((session) => session.query(queryOf()));
    expect(proxy.connections - before).to.equal(2);
    under.gateway.close();
  });

  it('end the connection of the watch at once', async () => {
    const under = mailGateway(viaProxy, 'anna', { providerConnections: 3 });
    const wait = { onWanted: () => undefined, signal: new AbortController().signal };
    const watch = await under.gateway.openWatch('mbx_test', wait);
    await under.gateway.disconnect('mbx_test');
    await eventually(() => !watch.connection.isUsable);
    watch.release();
    under.gateway.close();
  });

  it(`set no flag when a message is read ${verifies('contract:4:reading-keeps-unseen')}`, async () => {
    const under = mailGateway(server.imap(), 'anna');
    await under.mail((session) => session.query(queryOf({ textChars: 100 })));
    await under.mail(async (session) => {
      const { uidValidity } = await session.folderStatus(INBOX);
      await session.setFlags(INBOX, uidValidity, [1], { add: ['$Read'], remove: [] });
      await session.query(queryOf({ textChars: 100 }));
    });
    const flags = await withClient(server.imap(), 'anna', async (client) => {
      await client.mailboxOpen('INBOX', { readOnly: true });
      const message = await client.fetchOne('1', { flags: true }, { uid: true });
      return message === false ? [] : [...(message.flags ?? [])];
    });
    expect(flags).to.include('$Read').and.not.include('\\Seen');
    under.gateway.close();
  });

  it('answer 503 while the server is down, and work again when it is back', async () => {
    const under = mailGateway(server.imap(), 'anna');
    await under.mail((session) => session.query(queryOf()));
    await server.stop('SIGKILL');
    const error = await rejection(under.mail((session) => session.query(queryOf())));
    expect(error).to.have.property('code', 'mailbox_unavailable');
    expect(error).to.have.nested.property('details.reason', 'refused');
    await server.start();
    const { messages } = await under.mail((session) => session.query(queryOf()));
    expect(messages).to.have.length(1);
    under.gateway.close();
  });

  it('continue when the server has logged the user out', async () => {
    const under = mailGateway(server.imap(), 'anna');
    await under.mail((session) => session.query(queryOf()));
    await server.kick('anna');
    expect((await under.mail((session) => session.query(queryOf()))).messages).to.have.length(1);
    under.gateway.close();
  });
});

describe('encryption and targets', () => {
  let server: TestDovecot;
  before(async function () {
    server = await requireTestDovecot(this);
  });
  after(() => server.dispose());

  for (const security of ['tls', 'starttls', 'none'] as const) {
    it(`log in with security "${security}"`, async () => {
      const { gateway } = mailGateway(server.imap(security), 'anna', {
        extraCertificates: [server.certificate],
      });
      const report = await gateway.testImap(server.imap(security), CREDENTIALS);
      expect(report).to.include({ ok: true, stage: 'ready' });
    });
  }

  it('refuse unknown certificates and names that are not in them', async () => {
    const { gateway } = mailGateway(server.imap('tls'), 'anna');
    expect(await gateway.testImap(server.imap('tls'), CREDENTIALS)).to.include({ ok: false, stage: 'tls' });
    const knowing = mailGateway(server.imap('tls'), 'anna', { extraCertificates: [server.certificate] });
    const byAddress: HostSettings = { ...server.imap('tls'), host: '127.0.0.1' };
    expect(await knowing.gateway.testImap(byAddress, CREDENTIALS)).to.include({ ok: false, stage: 'tls' });
  });

  it('never use a plain connection when STARTTLS is hidden', async () => {
    const proxy = await startCuttingProxy({ host: server.host, port: server.ports.imap });
    proxy.hide = / STARTTLS/g;
    const stripped: HostSettings = { host: 'localhost', port: proxy.port, security: 'starttls' };
    const { gateway } = mailGateway(stripped, 'anna', { extraCertificates: [server.certificate] });
    expect(await gateway.testImap(stripped, CREDENTIALS)).to.include({ ok: false });
    expect(proxy.transcript).to.not.match(/LOGIN|AUTHENTICATE/);
    await proxy.close();
  });

  it('refuse plain connections to other hosts, and private hosts altogether', async () => {
    const guard = createEgressGuard(['10.0.0.0/8'], () => Promise.resolve(['10.1.2.3']));
    const { gateway } = mailGateway(server.imap(), 'anna', { guard });
    const error = await rejection(
      gateway.assertReachable({ host: 'mail.example.com', port: 143, security: 'none' }),
    );
    expect(error).to.have.property('code', 'target_blocked');
    await gateway.assertReachable({ host: 'mail.example.com', port: 143, security: 'starttls' });
    const blocked = await rejection(
      gateway.assertReachable({ host: '192.168.0.1', port: 993, security: 'tls' }),
    );
    expect(blocked).to.have.property('code', 'target_blocked');
    expect(await gateway.testImap({ host: '127.0.0.1', port: 993, security: 'tls' }, CREDENTIALS)).to.include(
      {
        ok: false,
        stage: 'egress',
      },
    );
  });

  it('report the step at which a connection test failed', async () => {
    const { gateway } = mailGateway(server.imap(), 'anna');
    const wrong = await gateway.testImap(server.imap(), { ...CREDENTIALS, password: 'wrong' });
    expect(wrong).to.include({ ok: false, stage: 'login' });
    const closed = await gateway.testImap({ host: '127.0.0.1', port: 1, security: 'none' }, CREDENTIALS);
    expect(closed).to.include({ ok: false, stage: 'connect' });
  });
});
