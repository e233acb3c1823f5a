import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';
import type { OwnChange } from '../../../../commands/ports/change-attribution.ts';
import { notifyMailbox } from '../../../../infra/mail-sync/mailbox-notify.ts';
import { type CuttingProxy, startCuttingProxy } from '../../../support/servers/cutting-proxy.ts';
import { requireTestDovecot, type TestDovecot } from '../../../support/servers/dovecot.ts';
import { appendMessages } from '../../../support/servers/mail-append.ts';
import { eventually } from '../../../support/suite/eventually.ts';
import { verifies } from '../../../support/suite/verifies.ts';
import { queryOf } from '../../../support/worlds/mail-gateway.ts';
import { type SyncRig, startSyncRig } from '../../../support/worlds/mail-sync-rig.ts';

const mail = (id: string): string =>
  `From: Ann <ann@example.com>\r\nSubject: ${id}\r\nMessage-ID: <${id}@example.com>\r\n\r\nHello\r\n`;

/** Longer than the pause before a folder is looked at after an own move. */
const LOOKED_AFTER_MS = 4_000;

describe('own moves', function () {
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
    user = `moves${String(users)}`;
    proxy = await startCuttingProxy(dovecot.imap());
    await appendMessages(
      dovecot.imap(),
      user,
      ['a', 'b', 'c', 'd'].map((id) => ({ raw: mail(id) })),
    );
    await appendMessages(dovecot.imap(), user, [{ folder: 'Archive', raw: mail('e') }]);
    const gatewayImap = { ...dovecot.imap(), port: proxy.port };
    rig = await startSyncRig(dovecot.imap(), user, { gatewayImap, hasQueries: true });
    // Rounds would find it too, later.
    rig.work({ roundEveryMs: 60_000 });
    await eventually(async () => (await rig.differences()).length === 0);
    await eventually(async () => (await rig.index.invalidated(rig.entry().number)).length === 0);
  });
  afterEach(async () => {
    await rig.close();
    await proxy.close();
  });

  /**
   * Moves a message of INBOX to Archive as an operation does; `meanwhile` runs before the move is settled. Only with its
   * Message-ID a poll in between can attribute the arrival.
   */
  const move = async (
    uid: number,
    meanwhile: () => Promise<void> = () => Promise.resolve(),
    messageId: string | null = null,
  ): Promise<void> => {
    const { locators, changeAttribution } = rig.ports;
    const [inbox, archive] = [rig.folder('INBOX'), rig.folder('Archive')];
    const mailboxNumber = rig.entry().number;
    const key = { mailboxNumber, folderNumber: inbox.number };
    const uidValidity = (await rig.index.folder(key))?.uidValidity ?? 0;
    const leaves = { kind: 'leaves', folder: inbox.number, uidValidity, uid, moved: true } as const;
    const place = { mailboxNumber, folderNumber: inbox.number, uidValidity, uid };
    const arrives = {
      kind: 'arrives',
      folder: archive.number,
      uidValidity: null,
      fromUid: 1,
      uid: null,
      messageId,
      previousId: locators.message(place),
    } as const;
    const originator = { mailboxId: rig.mailboxId, operationId: `opn_${String(uid)}` };
    const expectation = await changeAttribution.expect(originator, [leaves, arrives]);
    const outcome = await rig.gateway.withMailbox(rig.mailboxId, 'interactive', async (session) =>
      (await session.moveMessages(inbox, uidValidity, [uid], archive)).get(uid),
    );
    await meanwhile();
    if (outcome?.outcome !== 'done') throw new Error('the message was not moved');
    const { newUid, newUidValidity } = outcome;
    const settled: OwnChange[] = [leaves, { ...arrives, uid: newUid, uidValidity: newUidValidity }];
    await expectation.settle(settled);
  };

  const changedSince = (): number => proxy.transcript.match(/CHANGEDSINCE/g)?.length ?? 0;

  it(`are in feed and mirror without a look at the folders ${verifies('contract:11:own-changes')}`, async () => {
    await move(1);
    const looks = changedSince();
    await eventually(() => rig.told().length === 2);
    expect(
      rig.told().map(({ path, uid, kind, operation_id }) => [path, uid, kind, operation_id]),
    ).to.deep.equal([
      ['INBOX', 1, 'moved', 'opn_1'],
      ['Archive', 2, 'moved', 'opn_1'],
    ]);
    await eventually(async () => (await rig.differences()).length === 0);
    expect(await rig.index.invalidated(rig.entry().number)).to.deep.equal([]);
    expect(await rig.ports.sql.query('select from work.mail_echo')).to.deep.equal([]);
    expect(changedSince(), 'looks').to.equal(looks);
    const [row] = await rig.ports.sql.query<{ texts: string }>(
      "select string_agg(folder_number::text, ',' order by folder_number) as texts from mirror.message_text where envelope like '%<a@%'",
    );
    expect(row?.texts).to.equal(String(rig.folder('Archive').number));
  });

  it('show what another client does to the same folders at the same time', async () => {
    await move(1, () =>
      rig.client(async (own) => {
        await own.mailboxOpen('Archive');
        await own.messageFlagsAdd('1', ['\\Flagged'], { uid: true });
        await own.mailboxOpen('INBOX');
        await own.messageDelete('2', { uid: true });
        await own.messageFlagsAdd('3', ['\\Seen'], { uid: true });
      }),
    );
    await eventually(() => rig.told().length === 5, LOOKED_AFTER_MS + 6_000);
    const told = rig
      .told()
      .map(({ path, uid, kind, operation_id }) => [path, uid, kind, operation_id ?? null]);
    expect(told).to.have.deep.members([
      ['INBOX', 1, 'moved', 'opn_1'],
      ['Archive', 2, 'moved', 'opn_1'],
      ['Archive', 1, 'updated', null],
      ['INBOX', 2, 'deleted', null],
      ['INBOX', 3, 'updated', null],
    ]);
    await eventually(async () => (await rig.differences()).length === 0);
  });

  it('are told once where a poll saw the message arrive before the move was settled', async () => {
    const archive = rig.folder('Archive').number;
    await move(
      1,
      async () => {
        await notifyMailbox(rig.ports.sql, rig.mailboxId, [archive]);
        await eventually(() => rig.told().some(({ path }) => path === 'Archive'));
      },
      '<a@example.com>',
    );
    await eventually(async () => (await rig.differences()).length === 0);
    await eventually(async () => (await rig.index.invalidated(rig.entry().number)).length === 0);
    await sleep(LOOKED_AFTER_MS);
    const told = rig.told().map(({ path, uid, kind, operation_id }) => [path, uid, kind, operation_id]);
    expect(told).to.have.deep.members([
      ['INBOX', 1, 'moved', 'opn_1'],
      ['Archive', 2, 'moved', 'opn_1'],
    ]);
    const key = { mailboxNumber: rig.entry().number, folderNumber: archive };
    expect(await rig.index.folder(key)).to.include({ uidNext: 3, total: 2 });
  });

  it('have queries answered from the mirror again before the folder would be looked at', async () => {
    const query = queryOf({ folders: [rig.folder('INBOX'), rig.folder('Archive')] });
    const envelopes = (): number => proxy.transcript.match(/ENVELOPE/g)?.length ?? 0;
    const isLive = async (): Promise<boolean> => {
      const before = envelopes();
      expect((await rig.gateway.query(rig.mailboxId, query)).messages).to.have.length(5);
      return envelopes() > before;
    };
    await move(1);
    await eventually(() => rig.told().length === 2);
    expect(await isLive(), 'at first').to.equal(true);
    await eventually(async () => !(await isLive()), LOOKED_AFTER_MS / 4);
    const looks = changedSince();
    await sleep(LOOKED_AFTER_MS);
    expect(changedSince(), 'that look was enough').to.equal(looks);
  });

  it('leave folders to a look where a message arrived in between', async () => {
    await move(1, () => appendMessages(dovecot.imap(), user, [{ folder: 'Archive', raw: mail('f') }]));
    await eventually(() => rig.told().length >= 2);
    await move(2);
    await eventually(() => rig.told().length === 5, LOOKED_AFTER_MS + 6_000);
    const kinds = rig.told().map(({ path, uid, kind }) => [path, uid, kind]);
    expect(kinds).to.deep.include.members([
      ['Archive', 2, 'moved'],
      ['Archive', 3, 'received'],
      ['Archive', 4, 'moved'],
    ]);
    await eventually(async () => (await rig.differences()).length === 0);
    expect(await rig.index.invalidated(rig.entry().number)).to.deep.equal([]);
  });

  it('that follow each other are told once each, in any order of their ends', async () => {
    await Promise.all([move(1), move(2), move(3), move(4)]);
    await eventually(() => rig.told().length === 8);
    await eventually(async () => (await rig.differences()).length === 0);
    await eventually(async () => (await rig.index.invalidated(rig.entry().number)).length === 0);
    // A look that was planned finds nothing to tell.
    await sleep(LOOKED_AFTER_MS);
    expect(rig.told()).to.have.length(8);
    expect(
      rig.told().every(({ operation_id, kind }) => operation_id !== undefined && kind === 'moved'),
    ).to.equal(true);
  });
});
