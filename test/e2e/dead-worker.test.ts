import { expect } from 'chai';
import { requireTestDovecot, type TestDovecot } from '../support/servers/dovecot.ts';
import { eventually } from '../support/worlds/gateway.ts';
import { appendMessages, plainMessage } from '../support/servers/mail-append.ts';
import { ReplicaSet } from '../support/worlds/replica-set.ts';
import { verifies } from '../support/suite/verifies.ts';

/** A beat lasts three seconds, a lease thirty; in between is room for a busy machine. */
const SILENT_WITHIN_MS = 12_000;

describe('a killed worker process', function () {
  this.timeout(180_000);
  let dovecot: TestDovecot;
  let set: ReplicaSet;
  let mailboxId: string;

  before(async function () {
    dovecot = await requireTestDovecot(this);
    set = await ReplicaSet.start({}, () => [{ ROLES: 'api,projector' }, { ROLES: 'mail' }]);
    mailboxId = await set.addMailbox(dovecot.imap());
  });
  after(async () => {
    await set.remove();
    await dovecot.dispose();
  });

  const found = async (text: string): Promise<number> => {
    const select = { folder: 'inbox', filter: { subject_contains: text } };
    const { body } = await set.rest(0, ['POST', `/mailboxes/${mailboxId}/email.query`, { select }]);
    return (body.items as unknown[]).length;
  };
  const arrive = (subject: string): Promise<unknown> =>
    appendMessages(dovecot.imap(), 'anna', [{ raw: plainMessage({ subject }) }]);

  it(`keeps its mirrors fresh for three seconds more, independent of its lease ${verifies('contract:4:index-never-none')}`, async () => {
    await arrive('before');
    await eventually(async () => {
      expect(await found('before')).to.equal(1);
    });
    await set.replicas[1]?.kill();
    await arrive('after');
    await eventually(async () => {
      expect(await found('after')).to.equal(1);
    }, SILENT_WITHIN_MS);
  });
});
