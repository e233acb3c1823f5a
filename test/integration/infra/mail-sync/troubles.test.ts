import { expect } from 'chai';
import { GatewayError } from '../../../../commands/values/errors.ts';
import type { FolderUpdate, MailIndex } from '../../../../infra/mail-index/folder-mirror.ts';
import { startCuttingProxy } from '../../../support/servers/cutting-proxy.ts';
import { BARE, requireTestDovecot, type TestDovecot } from '../../../support/servers/dovecot.ts';
import { eventually } from '../../../support/suite/eventually.ts';
import { appendMessages } from '../../../support/servers/mail-append.ts';
import { type SyncRig, startSyncRig } from '../../../support/worlds/mail-sync-rig.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const mail = (id: string): string =>
  `From: Ann <ann@example.com>\r\nSubject: ${id}\r\nMessage-ID: <${id}@example.com>\r\n\r\nHello\r\n`;

describe('a worker in failures', function () {
  this.timeout(60_000);
  let dovecot: TestDovecot;
  let rig: SyncRig;
  let users = 0;
  let user: string;

  before(async function () {
    dovecot = await requireTestDovecot(this);
  });
  after(() => dovecot.dispose());
  beforeEach(async () => {
    users += 1;
    user = `trouble${String(users)}`;
    await appendMessages(dovecot.imap(), user, [{ raw: mail('a') }, { raw: mail('b') }]);
  });
  afterEach(() => rig.close());

  const arrive = (id: string) => appendMessages(dovecot.imap(), user, [{ raw: mail(id) }]);
  const isConnected = () => rig.entry().state === 'connected';
  const isSame = async (): Promise<boolean> => (await rig.differences()).length === 0;

  /** The index, whose next step fails after the feed was told; `path` only in that folder. */
  const breakable = (path: string, error: () => Error) => {
    const fails = { next: false, times: 0 };
    const failing = (update: FolderUpdate): boolean =>
      fails.next && update.folderNumber === rig.folder(path).number;
    const index = new Proxy<MailIndex>(rig.index, {
      get: (whole, name) => {
        const value: unknown = Reflect.get(whole, name);
        if (typeof value !== 'function') return value;
        return (...given: unknown[]): unknown => {
          if (name !== 'apply' || !failing(given[2] as FolderUpdate))
            return Reflect.apply(value, whole, given) as unknown;
          fails.next = false;
          fails.times += 1;
          return Promise.reject(error());
        };
      },
    });
    return { fails, index };
  };
  const failures = [
    { path: 'INBOX', error: () => new Error('the process ends here') },
    { path: 'Archive', error: () => new GatewayError('store_unavailable', 'The index is away.') },
  ];

  for (const { path, error } of failures) {
    it(`reports nothing twice when it fails between the feed and the index, in ${path}`, async () => {
      if (path !== 'INBOX')
        await appendMessages(
          dovecot.imap(),
          user,
          ['a', 'b'].map((id) => ({ folder: path, raw: mail(id) })),
        );
      rig = await startSyncRig(dovecot.imap(), user);
      const { fails, index } = breakable(path, error);
      rig.work({}, index);
      await eventually(isConnected);
      for (const change of ['arrival', 'flags', 'departure'] as const) {
        fails.next = true;
        if (change === 'arrival')
          await appendMessages(dovecot.imap(), user, [{ folder: path, raw: mail('late') }]);
        else
          await rig.client(async (own) => {
            await own.mailboxOpen(path);
            if (change === 'flags') await own.messageFlagsAdd('1', ['\\Flagged'], { uid: true });
            else await own.messageDelete('2', { uid: true });
          });
        await eventually(() => !fails.next);
        await eventually(isSame);
      }
      expect(fails.times).to.equal(3);
      expect(rig.told().map(({ kind, uid }) => `${kind} ${String(uid)}`)).to.deep.equal([
        'received 3',
        'updated 1',
        'deleted 2',
      ]);
    });
  }

  it('detects a silent connection and opens another', async () => {
    const proxy = await startCuttingProxy(dovecot.imap());
    const gatewayImap = { ...dovecot.imap(), port: proxy.port };
    rig = await startSyncRig(dovecot.imap(), user, { gatewayImap, commandTimeoutMs: 1_500 });
    rig.work();
    await eventually(isConnected);
    const { connections } = proxy;
    proxy.cutAt(/LIST/, 'hang');
    await eventually(() => proxy.connections > connections);
    await arrive('after-silence');
    await eventually(() => rig.told().length === 1);
    await eventually(isSame);
    await proxy.close();
  });

  it('skips a folder that the server does not open until the next list, and polls the others', async () => {
    const proxy = await startCuttingProxy(dovecot.imap());
    proxy.refuse = /(SELECT|EXAMINE) "?Shared/;
    await appendMessages(
      dovecot.imap(),
      user,
      ['Shared', 'Work'].map((folder) => ({ folder, raw: mail(folder) })),
    );
    rig = await startSyncRig(dovecot.imap(), user, { gatewayImap: { ...dovecot.imap(), port: proxy.port } });
    const everyMs = 400;
    rig.work({ roundEveryMs: everyMs });
    await eventually(isConnected);
    expect(await rig.differences()).to.deep.equal(['Shared is not complete', 'Shared/1: missing, not ']);
    const attempts = (): number => proxy.transcript.match(/(SELECT|EXAMINE) "?Shared/g)?.length ?? 0;
    const before = attempts();
    await rig.ports.clock.sleep(4 * everyMs);
    expect(attempts() - before, 'an attempt for each list').to.be.within(1, 5);
    proxy.refuse = /(SELECT|EXAMINE) "?(Shared|Work)/;
    await appendMessages(dovecot.imap(), user, [{ folder: 'Work', raw: mail('while-closed') }]);
    await rig.ports.clock.sleep(2 * everyMs);
    proxy.refuse = null;
    await eventually(isSame);
    await proxy.close();
  });

  it(`reports auth_failed only when the credentials are refused ${verifies('contract:4:mailbox-auth-failed')}`, async () => {
    rig = await startSyncRig(dovecot.imap(), user, { password: 'wrong' });
    rig.work();
    await eventually(() => rig.entry().state === 'auth_failed');
  });

  it('finds by comparing the messages that the mirror lacks', async () => {
    rig = await startSyncRig(dovecot.imap(), user);
    const end = rig.work();
    await eventually(isConnected);
    await end();
    const { number } = rig.entry();
    await rig.ports.sql.query(
      'update mirror.message set flagged = true where mailbox_number = $1 and uid = 1',
      [number],
    );
    await rig.ports.sql.query('delete from mirror.message where mailbox_number = $1 and uid = 2', [number]);
    expect(await isSame()).to.equal(false);
    rig.work({ compareEveryMs: 100, doubtEveryMs: 100 });
    await eventually(isSame);
    expect(
      rig.told().every(({ kind }) => kind === 'updated'),
      'no arrival',
    ).to.equal(true);
  });

  it('leaves no connection open when it is ended while it connects', async () => {
    const proxy = await startCuttingProxy(dovecot.imap());
    rig = await startSyncRig(dovecot.imap(), user, { gatewayImap: { ...dovecot.imap(), port: proxy.port } });
    const end = rig.work();
    await eventually(() => proxy.connections === 1);
    await end();
    await eventually(async () => (await dovecot.connectionsOf(user)) === 0);
    const types = rig.events.all.map(({ type }) => type);
    expect(types).to.not.include('MailboxConnectionFailed').and.not.include('MailboxDegraded');
    await proxy.close();
  });

  it('delays no other mailbox while it ends slowly', async () => {
    rig = await startSyncRig(dovecot.imap(), user);
    const letGo = Promise.withResolvers<undefined>();
    const held = { is: false };
    const index = new Proxy<MailIndex>(rig.index, {
      get: (whole, name) => {
        const value: unknown = Reflect.get(whole, name);
        if (typeof value !== 'function') return value;
        return async (...given: unknown[]): Promise<unknown> => {
          held.is ||= name === 'apply' && given[0] === rig.mailboxId;
          if (name === 'apply' && given[0] === rig.mailboxId) await letGo.promise;
          return await (Reflect.apply(value, whole, given) as Promise<unknown>);
        };
      },
    });
    rig.work({}, index);
    await eventually(() => held.is);
    await rig.pauseMailbox();
    await rig.ports.clock.sleep(100);
    const other = await rig.addMailbox();
    await eventually(() => rig.ports.directory.state.mailboxes.get(other)?.state === 'connected');
    expect(await rig.leases(), 'the first still has its lease').to.have.length(2);
    letGo.resolve(undefined);
    await eventually(async () => (await rig.leases()).length === 1);
  });

  it('leaves a paused mailbox at once', async () => {
    rig = await startSyncRig(dovecot.imap(), user);
    rig.work();
    await eventually(isConnected);
    await rig.pauseMailbox();
    await eventually(async () => (await rig.leases()).length === 0);
    await arrive('while-paused');
    await rig.ports.clock.sleep(600);
    expect(rig.told()).to.deep.equal([]);
  });
});

describe('a worker on a server without CONDSTORE', function () {
  this.timeout(60_000);
  let dovecot: TestDovecot;
  let rig: SyncRig;

  before(async function () {
    dovecot = await requireTestDovecot(this, { capability: BARE });
  });
  after(() => dovecot.dispose());
  afterEach(() => rig.close());

  it(`compares flags at intervals and reports it ${verifies('contract:4:flag-check')}`, async () => {
    await appendMessages(dovecot.imap(), 'few', [{ raw: mail('a') }, { folder: 'Archive', raw: mail('b') }]);
    rig = await startSyncRig(dovecot.imap(), 'few');
    rig.work({ compareEveryMs: 300 });
    await eventually(() => rig.entry().state === 'connected');
    expect(rig.entry().capabilities).to.include('X-GATEWAY-FLAG-CHECK=1');
    await rig.client(async (own) => {
      await own.mailboxOpen('Archive');
      await own.messageFlagsAdd('1', ['\\Flagged'], { uid: true });
    });
    await eventually(() => rig.told().length === 1);
    await eventually(async () => (await rig.differences()).length === 0);
  });
});

describe('a worker on a provider with a limit', function () {
  this.timeout(60_000);
  let dovecot: TestDovecot;
  let rig: SyncRig;

  before(async function () {
    dovecot = await requireTestDovecot(this, { maxUserConnections: 2 });
  });
  after(() => dovecot.dispose());
  afterEach(() => rig.close());

  it(`is degraded while the provider limits it, and recovers ${verifies('contract:4:mailbox-degraded')}`, async () => {
    const imap = dovecot.imap();
    await appendMessages(imap, 'held', [{ raw: mail('a') }]);
    rig = await startSyncRig(imap, 'held');
    const end = rig.work();
    await eventually(() => rig.entry().state === 'connected');
    await end();
    await rig.gateway.disconnect(rig.mailboxId);
    await eventually(async () => (await dovecot.connectionsOf('held')) === 0);
    // Other clients have both connections: the worker gets none.
    await rig.client(() =>
      rig.client(async () => {
        rig.work();
        await eventually(() => rig.entry().state === 'degraded');
        expect(rig.entry().stateReason).to.equal('login_unavailable');
      }),
    );
    await eventually(() => rig.entry().state === 'connected');
  });
});
