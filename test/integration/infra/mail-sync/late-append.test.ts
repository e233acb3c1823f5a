import { expect } from 'chai';
import { feedEvents, feedStream } from '../../../../commands/feed/feed-events.ts';
import { appendFacts, systemAuthor } from '../../../../commands/kernel/decide-and-append.ts';
import { catalogueOf } from '../../../../commands/values/event.ts';
import { requireTestDovecot, type TestDovecot } from '../../../support/servers/dovecot.ts';
import { eventually } from '../../../support/suite/eventually.ts';
import { appendMessages, plainMessage } from '../../../support/servers/mail-append.ts';
import { startSyncRig, type SyncRig } from '../../../support/worlds/mail-sync-rig.ts';

describe('a late append of an earlier worker', function () {
  this.timeout(60_000);
  let dovecot: TestDovecot;
  let rig: SyncRig;

  before(async function () {
    dovecot = await requireTestDovecot(this);
    await appendMessages(dovecot.imap(), 'late', [{ raw: plainMessage({ subject: 'seed' }) }]);
    rig = await startSyncRig(dovecot.imap(), 'late');
  });
  after(async () => {
    await rig.close();
    await dovecot.dispose();
  });

  /** Told, by a worker that did not live to see it, or whose successor took the mailbox meanwhile. */
  const tellAsAnother = async (uid: number): Promise<void> => {
    const { ports, mailboxId } = rig;
    const stream = feedStream(mailboxId, ports.clock.now());
    const { number: mailboxNumber } = rig.entry();
    const { number: folderNumber } = rig.folder('INBOX');
    const mirror = await rig.index.folder({ mailboxNumber, folderNumber });
    if (mirror === null) throw new Error('no copy');
    const place = { mailboxNumber, folderNumber, uidValidity: mirror.uidValidity, uid };
    const change = { kind: 'received' as const, locator: ports.locators.message(place), flags: [] };
    const about = { mailbox_id: mailboxId, folder: folderNumber, uid_validity: mirror.uidValidity };
    await appendFacts(ports, systemAuthor(ports, 'org_1'), {
      stream,
      expected: (await ports.events.readLast(stream))?.revision ?? 'no-stream',
      catalogue: catalogueOf(feedEvents),
      facts: [{ type: 'MailboxChangesObserved', data: { ...about, changes: [change] } }],
    });
  };

  it('is found by the worker that took the mailbox, and reported once', async () => {
    const end = rig.work();
    await eventually(() => rig.entry().state === 'connected');
    await end();
    const since = new Date();
    rig.work();
    const current = 'select 1 from work.mailbox_lease where until > now() and current_at > $1';
    await eventually(async () => (await rig.ports.sql.query(current, [since])).length > 0);
    await tellAsAnother(2);
    await appendMessages(dovecot.imap(), 'late', [{ raw: plainMessage({ subject: 'told' }) }]);
    await eventually(async () => (await rig.differences()).length === 0);
    await appendMessages(dovecot.imap(), 'late', [{ raw: plainMessage({ subject: 'next' }) }]);
    await eventually(() => rig.told().length >= 2);
    await eventually(async () => (await rig.differences()).length === 0);
    expect(rig.told().map(({ kind, uid }) => [kind, uid])).to.deep.equal([
      ['received', 2],
      ['received', 3],
    ]);
  });
});
