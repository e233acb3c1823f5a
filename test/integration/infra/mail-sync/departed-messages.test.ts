import { expect } from 'chai';
import { rememberExpunged } from '../../../../infra/mail-index/expunged-messages.ts';
import { createMirrorVersions } from '../../../../infra/mail-sync/postgres-mirror-versions.ts';
import { requireTestDovecot, type TestDovecot } from '../../../support/servers/dovecot.ts';
import { eventually } from '../../../support/suite/eventually.ts';
import { appendMessages, plainMessage } from '../../../support/servers/mail-append.ts';
import { type SyncRig, startSyncRig } from '../../../support/worlds/mail-sync-rig.ts';
import { verifies } from '../../../support/suite/verifies.ts';

describe('the places of departed messages', function () {
  this.timeout(60_000);
  let dovecot: TestDovecot;
  let rig: SyncRig;

  before(async function () {
    dovecot = await requireTestDovecot(this);
    await appendMessages(dovecot.imap(), 'departed', [
      { raw: plainMessage({ subject: 'moved', id: '<moved@example.com>' }) },
      { raw: plainMessage({ subject: 'deleted', id: '<deleted@example.com>' }) },
      { raw: plainMessage({ subject: 'hostile', id: '<a\\ud800"b@example.com>' }) },
      { raw: plainMessage({ subject: 'no name' }) },
    ]);
    rig = await startSyncRig(dovecot.imap(), 'departed');
    rig.work({ roundEveryMs: 60_000 });
    await eventually(() => rig.entry().state === 'connected');
  });
  after(async () => {
    await rig.close();
    await dovecot.dispose();
  });

  const known = async (uid: number, life?: number) => {
    const uidValidity = life ?? (await mirror()).uidValidity;
    const ref = { folder: rig.folder('INBOX'), uidValidity, uid };
    return await createMirrorVersions(rig.ports.sql, rig.index).knownMessage(rig.entry().number, ref);
  };
  const mirror = async () => {
    const { number: folderNumber } = rig.folder('INBOX');
    const found = await rig.index.folder({ mailboxNumber: rig.entry().number, folderNumber });
    if (found === null) throw new Error('no copy');
    return found;
  };

  it(`are the same before and after another client removed them, for thirty days ${verifies('contract:4:stale-current-id')}`, async () => {
    const before = await Promise.all([known(1), known(2), known(3)]);
    expect(before.map((each) => each?.rfcMessageId)).to.deep.equal([
      '<moved@example.com>',
      '<deleted@example.com>',
      '<a\\ud800"b@example.com>',
    ]);
    expect(before[0]?.size).to.be.greaterThan(50);
    await rig.client(async (own) => {
      await own.mailboxOpen('INBOX');
      await own.messageMove('1', 'Archive', { uid: true });
      await own.messageDelete('2:4', { uid: true });
    });
    await eventually(async () => (await mirror()).total === 0);
    expect(await Promise.all([known(1), known(2), known(3)])).to.deep.equal(before);
    expect(await known(4), 'nothing names it').to.equal(null);
    expect(await known(5), 'never there').to.equal(null);
    expect(await known(1, 7), 'of another life of the folder').to.equal(null);

    const { sql } = rig.ports;
    await sql.query(
      `update mirror.departed_message set departed_at = now() - interval '30 days 1 second' where uid < 3`,
    );
    await appendMessages(dovecot.imap(), 'departed', [
      { raw: plainMessage({ subject: 'next', id: '<n@x>' }) },
    ]);
    await eventually(async () => (await mirror()).total === 1);
    await rig.client(async (own) => {
      await own.mailboxOpen('INBOX');
      await own.messageDelete('1:*', { uid: true });
    });
    await eventually(async () => (await mirror()).total === 0);
    expect([await known(1), (await known(3)) === null, (await known(5)) === null]).to.deep.equal([
      null,
      false,
      false,
    ]);
    const { uidValidity } = await mirror();
    await rig.index.erase(rig.entry().number);
    expect(await known(3, uidValidity)).to.equal(null);
  });

  it('are kept for at most ten thousand messages of a mailbox', async () => {
    const { sql } = rig.ports;
    await sql.query(
      `insert into mirror.departed_message (mailbox_number, folder_number, uid_validity, uid, message_id, size, received_at, departed_at)
       select 99, 1, 1, uid, '<' || uid || '>', 1, 1, now() - (20000 - uid) * interval '1 second'
       from generate_series(1, 10500) as uid`,
    );
    await sql.transaction(async (inside) => {
      const place = { mailboxNumber: 99, folderNumber: 1, uidValidity: 1 };
      const envelope = JSON.stringify({ messageId: '<last>' });
      await rememberExpunged(inside, place, [
        { uid: '20000', size: '1', received_at: '1', provider_id: null, envelope },
      ]);
    });
    const [row] = await sql.query<{ kept: number; first: string }>(
      'select count(*)::int as kept, min(uid) as first from mirror.departed_message where mailbox_number = 99',
    );
    expect(row?.kept).to.be.within(10_000, 10_001);
    expect(Number(row?.first)).to.be.within(501, 502);
  });
});
