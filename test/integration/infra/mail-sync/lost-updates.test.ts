import { expect } from 'chai';
import { requireTestDovecot, type TestDovecot } from '../../../support/servers/dovecot.ts';
import { eventually } from '../../../support/suite/eventually.ts';
import { appendMessages, plainMessage } from '../../../support/servers/mail-append.ts';
import { type SyncRig, startSyncRig } from '../../../support/worlds/mail-sync-rig.ts';

describe('a mirror that lost an update', function () {
  this.timeout(60_000);
  let dovecot: TestDovecot;
  let rig: SyncRig;

  before(async function () {
    dovecot = await requireTestDovecot(this);
    await appendMessages(dovecot.imap(), 'lost', [{ raw: plainMessage({ subject: 'seed' }) }]);
    rig = await startSyncRig(dovecot.imap(), 'lost');
  });
  after(async () => {
    await rig.close();
    await dovecot.dispose();
  });

  it('gets it again at the next connect, which begins from the mirror and not from memory', async () => {
    rig.work({ roundEveryMs: 60_000 });
    await eventually(() => rig.entry().state === 'connected');
    const { sql } = rig.ports;
    const inbox = [rig.entry().number, rig.folder('INBOX').number];
    const [before] = await sql.query(
      'select uid_next, highest_modseq, total, indexed, feed_position from mirror.folder where mailbox_number = $1 and folder_number = $2',
      inbox,
    );
    await appendMessages(dovecot.imap(), 'lost', [{ raw: plainMessage({ subject: 'lost' }) }]);
    await eventually(async () => rig.told().length === 1 && (await rig.differences()).length === 0);
    // As a server that was made the first one in another's stead, without what that had last.
    await sql.transaction(async (inside) => {
      for (const table of ['message', 'message_text'])
        await inside.query(`delete from mirror.${table} where uid = 2`);
      await inside.query(
        `update mirror.folder set uid_next = $3, highest_modseq = $4, total = $5, indexed = $6, feed_position = $7
         where mailbox_number = $1 and folder_number = $2`,
        [...inbox, ...Object.values(before ?? {})],
      );
    });
    expect(await rig.differences()).to.have.length(1);
    await dovecot.kick('lost');
    await eventually(async () => (await rig.differences()).length === 0);
    expect(rig.told().map(({ kind, uid }) => [kind, uid])).to.deep.equal([['received', 2]]);
  });
});
