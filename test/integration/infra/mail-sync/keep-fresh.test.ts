import { expect } from 'chai';
import type { FolderUpdate } from '../../../../infra/mail-index/folder-mirror.ts';
import { createMirrorVersions } from '../../../../infra/mail-sync/postgres-mirror-versions.ts';
import { systemClock } from '../../../../infra/platform/system-clock.ts';
import { requireTestDovecot, type TestDovecot } from '../../../support/servers/dovecot.ts';
import { eventually } from '../../../support/suite/eventually.ts';
import { appendMessages } from '../../../support/servers/mail-append.ts';
import { type SyncRig, startSyncRig } from '../../../support/worlds/mail-sync-rig.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const mail = (id: string): string =>
  `From: Ann <ann@example.com>\r\nTo: box@example.com\r\nSubject: ${id}\r\nMessage-ID: <${id}@example.com>\r\n\r\nHello\r\n`;

describe('the mirror of a mailbox', function () {
  this.timeout(60_000);
  let dovecot: TestDovecot;
  let rig: SyncRig;
  let users = 0;

  before(async function () {
    dovecot = await requireTestDovecot(this);
  });
  after(() => dovecot.dispose());
  afterEach(() => rig.close());

  const start = async (seeded = 3): Promise<void> => {
    users += 1;
    const user = `fresh${String(users)}`;
    const seeds = Array.from({ length: seeded }, (_, at) => ({ raw: mail(`seed-${String(at)}`) }));
    await appendMessages(dovecot.imap(), user, seeds);
    rig = await startSyncRig(dovecot.imap(), user);
  };
  const isSame = async (): Promise<boolean> => (await rig.differences()).length === 0;

  it(`is complete after the first pass, which reports no message ${verifies('contract:4:mailbox-syncs', 'contract:11:first-sync')}`, async () => {
    await start(300);
    rig.work();
    await eventually(() => rig.entry().state === 'connected');
    expect(await rig.differences()).to.deep.equal([]);
    expect(rig.told()).to.deep.equal([]);
    const indexed = rig.events.all.filter(({ type }) => type === 'FolderIndexed');
    const counts = indexed.map(({ data }) => [data['folder'], data['count']]);
    const others = rig.entry().folders.filter(({ path }) => path !== 'INBOX');
    expect(counts).to.have.deep.members([
      [rig.folder('INBOX').number, 300],
      ...others.map(({ number }) => [number, 0]),
    ]);
    const status = await createMirrorVersions(rig.ports.sql, rig.index).statusOf([rig.entry()]);
    expect(status.get(rig.mailboxId)).to.include({ indexed: 300, total: 300 });
  });

  it('shows new mail long before the next round, also right after other new mail', async () => {
    await start();
    rig.work({ roundEveryMs: 60_000 });
    await eventually(() => rig.entry().state === 'connected');
    for (const id of ['first', 'second', 'third']) {
      await appendMessages(dovecot.imap(), `fresh${String(users)}`, [{ raw: mail(id) }]);
      const before = rig.told().length;
      await eventually(() => rig.told().length > before);
    }
    expect(rig.told().map(({ kind, path, uid }) => [kind, path, uid])).to.deep.equal([
      ['received', 'INBOX', 4],
      ['received', 'INBOX', 5],
      ['received', 'INBOX', 6],
    ]);
    await eventually(isSame);
  });

  it('follows flags, marks, moves and expunges of other clients in any folder', async () => {
    await start(6);
    rig.work();
    await eventually(() => rig.entry().state === 'connected');
    await rig.client(async (own) => {
      await own.mailboxOpen('INBOX');
      await own.messageFlagsAdd('1', ['\\Flagged', '$Work'], { uid: true });
      await own.messageMove('2', 'Archive', { uid: true });
      await own.messageDelete('3', { uid: true });
      await own.messageFlagsAdd('4', ['\\Deleted'], { uid: true });
      await own.messageCopy('5', 'Junk', { uid: true });
    });
    await eventually(isSame);
    await rig.client(async (own) => {
      await own.mailboxOpen('INBOX');
      await own.messageFlagsRemove('4', ['\\Deleted'], { uid: true });
      await own.mailboxOpen('Junk');
      await own.messageFlagsAdd('1', ['\\Seen'], { uid: true });
    });
    await eventually(async () => (await isSame()) && rig.told().length >= 8);
    const told = rig.told().map(({ kind, path, uid, flags }) => [path, uid, kind, ...flags].join(' '));
    expect(told.toSorted()).to.deep.equal(
      [
        'INBOX 1 updated $Work \\Flagged',
        'INBOX 2 deleted',
        'Archive 1 received',
        'INBOX 3 deleted',
        'INBOX 4 deleted',
        'Junk 1 received',
        'INBOX 4 updated',
        'Junk 1 updated \\Seen',
      ].toSorted(),
    );
  });

  it('sends no more requests when a departed message is gone from it', async () => {
    await start();
    const looks = { count: 0 };
    const counting = new Proxy(rig.index, {
      get: (index, name) => {
        if (name === 'apply') looks.count += 1;
        const member: unknown = Reflect.get(index, name);
        return typeof member === 'function' ? (member.bind(index) as unknown) : member;
      },
    });
    rig.work({ roundEveryMs: 60_000 }, counting);
    await eventually(() => rig.entry().state === 'connected');
    await rig.client(async (own) => {
      await own.mailboxOpen('INBOX');
      await own.messageMove('2', 'Archive', { uid: true });
    });
    await eventually(() => rig.told().some(({ kind }) => kind === 'deleted'));
    await eventually(async () => {
      const before = looks.count;
      await systemClock.sleep(300);
      return looks.count === before;
    });
  });

  it('follows folders that are created, renamed, deleted and created again under the same name', async () => {
    await start();
    rig.work();
    await eventually(() => rig.entry().state === 'connected');
    const user = `fresh${String(users)}`;
    await appendMessages(dovecot.imap(), user, [{ folder: 'Work', raw: mail('work') }]);
    await eventually(isSame);
    const { number } = rig.folder('Work');
    await rig.client((own) => own.mailboxRename('Work', 'Office'));
    await eventually(isSame);
    expect(rig.folder('Office').number).to.equal(number);
    await rig.client(async (own) => {
      await own.mailboxDelete('Office');
    });
    await appendMessages(dovecot.imap(), user, [{ folder: 'Office', raw: mail('office') }]);
    await eventually(isSame);
    const resets = rig.events.all.filter(({ type }) => type === 'FolderReset');
    expect(resets.map(({ data }) => data['folder'])).to.deep.equal([number]);
    await rig.client((own) => own.mailboxDelete('Office'));
    await eventually(() =>
      rig.entry().folders.some((each) => each.number === number && each.availability === 'missing'),
    );
    await eventually(
      async () =>
        (await rig.index.folder({ mailboxNumber: rig.entry().number, folderNumber: number })) === null,
    );
  });

  it('resumes an interrupted first pass', async () => {
    await start(600);
    const isEnding = Promise.withResolvers<undefined>();
    let pages = 0;
    // The page after the first one is written only once the worker was told to end.
    const interrupted = new Proxy(rig.index, {
      get: (index, name) => {
        const member: unknown = Reflect.get(index, name);
        if (typeof member !== 'function') return member;
        return async (...given: unknown[]): Promise<unknown> => {
          if (name === 'apply' && (given[2] as FolderUpdate).added.length > 0) pages += 1;
          if (name === 'apply' && pages > 1) await isEnding.promise;
          return await (Reflect.apply(member, index, given) as Promise<unknown>);
        };
      },
    });
    const end = rig.work({}, interrupted);
    const inbox = () => rig.index.folder({ mailboxNumber: rig.entry().number, folderNumber: 1 });
    await eventually(async () => ((await inbox())?.indexedFrom ?? Infinity) <= 600);
    const ended = end();
    isEnding.resolve(undefined);
    await ended;
    const cutOff = (await inbox())?.indexedFrom ?? 0;
    expect(cutOff, 'newest first').to.be.within(2, 600);
    rig.work();
    await eventually(() => rig.entry().state === 'connected');
    await eventually(isSame);
    expect(rig.told()).to.deep.equal([]);
  });

  it('continues when its connection was ended, and misses nothing', async () => {
    await start();
    rig.work();
    await eventually(() => rig.entry().state === 'connected');
    const user = `fresh${String(users)}`;
    await dovecot.kick(user);
    await appendMessages(dovecot.imap(), user, [{ raw: mail('while-away') }]);
    await eventually(() => rig.told().length === 1);
    await eventually(isSame);
  });
});
