import { expect } from 'chai';
import type { FolderUpdate, MailIndex } from '../../../../infra/mail-index/folder-mirror.ts';
import { requireTestDovecot, type TestDovecot } from '../../../support/servers/dovecot.ts';
import { eventually } from '../../../support/suite/eventually.ts';
import { appendMessages } from '../../../support/servers/mail-append.ts';
import { INBOX, queryOf } from '../../../support/worlds/mail-gateway.ts';
import { type SyncRig, startSyncRig } from '../../../support/worlds/mail-sync-rig.ts';

/** More than a look takes in at once. */
const MESSAGES = 600;
const mail = (id: string): string =>
  `From: Ann <ann@example.com>\r\nSubject: ${id}\r\nMessage-ID: <${id}@example.com>\r\n\r\nHello\r\n`;

describe('a poll that finds many changes', function () {
  this.timeout(60_000);
  let dovecot: TestDovecot;
  let rig: SyncRig;
  /** What happens while the first messages of another folder are put into the index. */
  let meanwhile: () => Promise<void> = () => Promise.resolve();

  before(async function () {
    dovecot = await requireTestDovecot(this);
    const seeds = Array.from({ length: MESSAGES }, (_, at) => ({
      folder: 'Junk',
      raw: mail(`m${String(at)}`),
    }));
    await appendMessages(dovecot.imap(), 'large', seeds);
    rig = await startSyncRig(dovecot.imap(), 'large', { providerConnections: 2 });
  });
  after(async () => {
    await rig.close();
    await dovecot.dispose();
  });

  const work = async (): Promise<() => Promise<void>> => {
    const index = new Proxy<MailIndex>(rig.index, {
      get: (whole, name) => {
        const value: unknown = Reflect.get(whole, name);
        if (typeof value !== 'function') return value;
        return async (...given: unknown[]): Promise<unknown> => {
          if (name === 'apply') await beforeApply(given[2] as FolderUpdate);
          return await (Reflect.apply(value, whole, given) as Promise<unknown>);
        };
      },
    });
    const end = rig.work({}, index);
    await eventually(() => rig.entry().state === 'connected');
    return end;
  };
  const beforeApply = async ({ folderNumber, added }: FolderUpdate): Promise<void> => {
    if (added.length === 0 || folderNumber === INBOX.number) return;
    const happens = meanwhile;
    meanwhile = () => Promise.resolve();
    await happens();
  };
  const moveAll = (from: string, to: string) =>
    rig.client(async (own) => {
      await own.mailboxOpen(from);
      await own.messageMove('1:*', to, { uid: true });
    });
  /** Changes told after so many, in order. */
  const toldSince = (told: number) => rig.told().slice(told);
  const arrivals = (path: string, told: number) =>
    toldSince(told).filter((change) => change.path === path && change.kind === 'received');
  const expectOnce = (path: string, told: number): void => {
    const uids = arrivals(path, told).map(({ uid }) => uid);
    expect(new Set(uids).size).to.equal(MESSAGES);
    expect(uids).to.have.length(MESSAGES);
  };
  const isSame = async (): Promise<boolean> => (await rig.differences()).length === 0;

  it('reports new mail in INBOX in between', async () => {
    const end = await work();
    const told = rig.told().length;
    meanwhile = async () => {
      await appendMessages(dovecot.imap(), 'large', [{ raw: mail('urgent') }]);
      await rig.ports.clock.sleep(500);
    };
    await moveAll('Junk', 'Archive');
    await eventually(isSame);
    const paths = toldSince(told).map(({ path }) => path);
    expect(paths.indexOf('INBOX')).to.be.within(1, paths.lastIndexOf('Archive'));
    expectOnce('Archive', told);
    await end();
  });

  it('pauses for a waiting caller and continues afterwards', async () => {
    const end = await work();
    const told = rig.told().length;
    const toldThen: number[] = [];
    const callers: Promise<unknown>[] = [];
    meanwhile = () => {
      const answered = rig.gateway
        .withMailbox(rig.mailboxId, 'interactive', (session) => session.query(queryOf()))
        .then(() => toldThen.push(arrivals('Junk', told).length));
      callers.push(answered);
      return Promise.resolve();
    };
    await moveAll('Archive', 'Junk');
    await eventually(isSame);
    await Promise.all(callers);
    expect(toldThen[0]).to.be.within(1, MESSAGES - 1);
    expectOnce('Junk', told);
    await end();
  });

  it('stops in the middle when the worker ends, and is finished by the next one', async () => {
    const end = await work();
    const told = rig.told().length;
    const ended = Promise.withResolvers<undefined>();
    meanwhile = () => {
      void end().then(() => {
        ended.resolve(undefined);
      });
      return rig.ports.clock.sleep(50);
    };
    await moveAll('Junk', 'Archive');
    await ended.promise;
    expect(arrivals('Archive', told)).to.have.length.within(1, MESSAGES - 1);
    await work();
    await eventually(isSame);
    expectOnce('Archive', told);
  });
});
