import { expect } from 'chai';
import { listAuditEvents } from '../../../../read-api/audit/read-audit.ts';
import type { AuditLine } from '../../../../read-api/audit/audit-line.ts';
import type { Role } from '../../../../commands/values/scopes.ts';
import { PeopleRig } from '../../../support/worlds/people-rig.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const EVENT_ID = '01890a5d-ac96-774b-bcce-b302099a8057';
const APPROVAL = 'chk_1';

describe('the sealed texts of an audit line', () => {
  let rig: PeopleRig;
  let mailboxId: string;

  beforeEach(async () => {
    rig = await PeopleRig.start();
    rig.gateway.sql.rows.set('read.approval', []);
    mailboxId = await rig.mailbox();
  });

  const line = ({ author = 'usr_1', approvalId = null as string | null } = {}) => ({
    ...{ seq: '1', position: '64', event_id: EVENT_ID, type: 'MailboxAdded' },
    ...{ resource_type: 'mailbox', resource_id: mailboxId, mailbox_id: mailboxId, approval_id: approvalId },
    ...{ action: 'mailbox.add', outcome: 'allowed', policy: null, leaf: Buffer.alloc(32) },
    line: JSON.stringify({
      actor: { type: 'person', id: author, token_id: null, session_id: null },
      ...{ occurred_at: '2026-03-01T12:00:00.000Z', surface: 'rest' },
      ...{ request_id: 'req_1', correlation_id: 'req_1', causation_id: 'req_1' },
    }),
    body: JSON.stringify({
      data: { number: 1, email: `sealed:${mailboxId}:box@example.com`, display_name: 'sealed:usr_1:Box' },
      meta: { actor: { client: 'sealed:usr_1:{"ip":"192.0.2.1"}' } },
    }),
  });
  const seen = async (token: string, row = line()): Promise<AuditLine> => {
    rig.gateway.sql.rows.set('read.audit', [row]);
    const { items } = await rig.gateway.call<{ items: AuditLine[] }>(listAuditEvents, {}, { token });
    const [only] = items;
    if (only === undefined) throw new Error('no line');
    return only;
  };
  const signedIn = async (role: Role): Promise<{ readonly userId: string; readonly token: string }> => {
    const userId = await rig.join(role);
    return { userId, token: await rig.gateway.signIn(userId) };
  };
  const open = { number: 1, email: 'box@example.com', display_name: 'Box' };

  it(`hides those of a mailbox from who has no part in it ${verifies('contract:12:withheld')}`, async () => {
    const auditor = await signedIn('auditor');
    const { data, withheld, actor } = await seen(auditor.token);
    expect(data).to.deep.equal({ ...open, email: null });
    expect(withheld).to.deep.equal(['/data/email']);
    expect(actor.ip).to.equal('192.0.2.1');
  });

  it(`opens those of a mailbox for who may read it ${verifies('contract:12:withheld')}`, async () => {
    const auditor = await signedIn('auditor');
    await rig.grant(mailboxId, auditor.userId);
    const granted = await seen(auditor.token);
    expect(granted.data).to.deep.equal(open);
    expect(granted).not.to.have.property('withheld');
  });

  it(`hides those of a mailbox from who may read some of its folders ${verifies('contract:12:withheld')}`, async () => {
    const auditor = await signedIn('auditor');
    await rig.grant(mailboxId, auditor.userId, ['inbox']);
    expect((await seen(auditor.token)).withheld).to.deep.equal(['/data/email']);
  });

  it(`opens those of a mailbox for the author ${verifies('contract:12:withheld')}`, async () => {
    const auditor = await signedIn('auditor');
    expect((await seen(auditor.token, line({ author: auditor.userId }))).data).to.deep.equal(open);
  });

  it(`opens those of a mailbox for who decides the approval ${verifies('contract:12:withheld')}`, async () => {
    const admin = await signedIn('admin');
    expect((await seen(admin.token, line({ approvalId: APPROVAL }))).withheld).to.deep.equal(['/data/email']);
    rig.gateway.sql.rows.set('read.approval', [{}]);
    expect((await seen(admin.token, line({ approvalId: APPROVAL }))).data).to.deep.equal(open);
    expect(rig.gateway.sql.asked.at(-1)).to.deep.equal([
      ...[APPROVAL, rig.orgId, admin.userId, true],
      ['approver', 'admin'],
    ]);
    expect((await seen(admin.token)).withheld).to.deep.equal(['/data/email']);
  });

  it('keeps those that were never sealed', async () => {
    const auditor = await signedIn('auditor');
    const data = { minute: '2026-03-01T12:00:00Z', code: 'invalid_token', source: '192.0.2.0/24', count: 3 };
    const counted = { ...line(), type: 'RefusalsCounted', body: JSON.stringify({ data }) };
    const shown = await seen(auditor.token, counted);
    expect(shown.data).to.deep.equal(data);
    expect(shown).not.to.have.any.keys('withheld', 'erased');
  });

  it('leaves erased texts out of the withheld ones', async () => {
    const auditor = await signedIn('auditor');
    await rig.ports.personal.erase(mailboxId);
    const { data, withheld } = await seen(auditor.token);
    expect(data).to.deep.equal({ ...open, email: null });
    expect(withheld).to.equal(undefined);
  });
});
