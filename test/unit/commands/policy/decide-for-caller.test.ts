import { expect } from 'chai';
import type { DirectoryState, PolicyEntry } from '../../../../commands/kernel/directory.ts';
import { PolicyRules } from '../../../../commands/kernel/policy-document.ts';
import { decideActionPolicy, decideSendPolicy } from '../../../../commands/policy/decide-for-caller.ts';
import { operationRig } from '../../../support/operation-rig.ts';
import { verifies } from '../../../support/verifies.ts';

/** A caller's rig whose organisation has these rules, and mailboxes with these addresses. */
function asking(rules: readonly unknown[], ...emails: readonly string[]) {
  const { caller, ports } = operationRig();
  const before = ports.directory.state;
  const entry: PolicyEntry = {
    id: caller.org.id,
    version: 2,
    rules: PolicyRules.parse(rules),
    default: null,
  };
  const [sample] = before.mailboxes.values();
  if (!sample) throw new Error('no mailbox');
  const mailboxes = new Map(
    emails.map((email, index) => [`mbx_${String(index)}`, { ...sample, id: `mbx_${String(index)}`, email }]),
  );
  const state: DirectoryState = { ...before, mailboxes, policies: new Map([[entry.id, entry]]) };
  return { caller, ports: { ...ports, directory: { ...ports.directory, state } }, state, mailboxes };
}

describe('the policy asked for a caller', () => {
  const mailbox = { id: 'mbx_0' };
  const internal = { id: 'internal', when: { external_recipient: false }, then: { decision: 'allow' } };

  it(`takes the domains of the organisation's own mailboxes for its own ${verifies('contract:8:recipients')}`, () => {
    const { caller, ports, mailboxes } = asking(
      [internal],
      'anna@example.com',
      'box@Exämple.org',
      'x@gone.example',
    );
    const gone = mailboxes.get('mbx_2');
    if (gone) mailboxes.set('mbx_2', { ...gone, state: 'removed' });
    const decided = (...recipients: readonly string[]) =>
      decideSendPolicy({ caller, ports }, mailbox, { recipients, attachments: [] });
    expect(decided('bob@example.com')).to.include({ decision: 'allow', ruleId: 'internal', version: 2 });
    expect(decided('bob@EXAMPLE.com', 'box@xn--exmple-cua.org').decision).to.equal('allow');
    expect(decided('bob@example.com', 'eve@example.net').decision).to.equal('require');
    expect(decided('bob@sub.example.com').decision).to.equal('require');
    expect(decided('x@gone.example').decision).to.equal('require');
    expect(decided('"@example.com"@example.net').decision).to.equal('require');
  });

  it(`reads a first contact as true while nobody knows ${verifies('contract:8:recipients')}`, () => {
    const known = { id: 'known', when: { first_contact: false }, then: { decision: 'allow' } };
    const send = { recipients: ['bob@example.com'], attachments: [] };
    expect(decideSendPolicy(asking([known], 'anna@example.com'), mailbox, send).decision).to.equal('require');
  });

  it('looks at every attachment and the number of recipients', () => {
    const rules = [
      {
        id: 'few',
        when: { recipient_count: { max: 1 }, attachment_types: ['image/*'] },
        then: { decision: 'allow' },
      },
    ];
    const decided = (recipients: readonly string[], ...types: readonly string[]) =>
      decideSendPolicy(asking(rules, 'anna@example.com'), mailbox, {
        recipients,
        attachments: types.map((contentType) => ({ contentType, size: 10 })),
      }).decision;
    expect(decided(['bob@example.com'], 'IMAGE/png', 'image/gif')).to.equal('allow');
    expect(decided(['bob@example.com'], 'image/png', 'application/pdf')).to.equal('require');
    expect(decided(['bob@example.com', 'eve@example.com'], 'image/png')).to.equal('require');
  });

  it('looks at the type of an attachment, whatever parameters stand behind it', () => {
    const exact = ['application/x-msdownload', 'text/csv'];
    const rules = [{ id: 'no', when: { attachment_types: exact }, then: { decision: 'deny' } }];
    const decided = (contentType: string) =>
      decideSendPolicy(asking(rules, 'anna@example.com'), mailbox, {
        recipients: ['bob@example.com'],
        attachments: [{ contentType, size: 10 }],
      }).decision;
    expect(decided('application/x-msdownload; charset=utf-8')).to.equal('deny');
    expect(decided('Text/CSV ;charset=utf-8')).to.equal('deny');
    expect(decided('text/csv-schema; charset=utf-8')).not.to.equal('deny');
  });

  it('counts the messages of an operation', () => {
    const rules = [{ id: 'bulk', when: { bulk_count: { min: 3 } }, then: { decision: 'deny' } }];
    const decided = (count: number) =>
      decideActionPolicy(asking(rules, 'a@example.com'), 'mbx_0', ['move'], count);
    expect(decided(2)).to.include({ decision: 'allow', ruleId: 'default.reversible', version: 2 });
    expect(decided(3)).to.include({ decision: 'deny', ruleId: 'bulk', version: 2 });
  });
});
