import { expect } from 'chai';
import type { DirectoryState, PolicyEntry } from '../../../../commands/ports/directory.ts';
import { decideActionPolicy, decideSendPolicy } from '../../../../commands/policy/decide-for-caller.ts';
import { operationRig } from '../../../support/worlds/operation-rig.ts';
import { policyEntry } from '../../../support/samples/policy-entry.ts';
import { verifies } from '../../../support/suite/verifies.ts';

/** A caller's rig whose organisation has these rules. */
function asking(rules: readonly unknown[], said: Partial<PolicyEntry> = {}) {
  const { caller, ports } = operationRig();
  const entry = policyEntry(rules, { id: caller.org.id, version: 2, ...said });
  const state: DirectoryState = { ...ports.directory.state, policies: new Map([[entry.id, entry]]) };
  return { caller, ports: { ...ports, directory: { ...ports.directory, state } } };
}

const NOBODY: ReadonlySet<string> = new Set();
const NOTHING = { writtenTo: NOBODY, attachments: [], headers: [] };

describe('policy decision for a caller', () => {
  const mailbox = { id: 'mbx_0' };
  const internal = { id: 'internal', when: { external_recipient: false }, then: { decision: 'allow' } };

  it(`treats the domains named by the policy as internal ${verifies('contract:8:recipients', 'contract:8:internal-domains')}`, () => {
    const internal_domains = ['example.com', 'xn--exmple-cua.org', '*.parts.example'];
    const decided = (...recipients: readonly string[]) =>
      decideSendPolicy(asking([internal], { internal_domains }), mailbox, { recipients, ...NOTHING });
    expect(decided('bob@example.com')).to.include({ decision: 'allow', ruleId: 'internal', version: 2 });
    expect(decided('bob@EXAMPLE.com', 'box@Exämple.org').decision).to.equal('allow');
    expect(decided('bob@example.com', 'eve@example.net').decision).to.equal('require');
    expect(decided('bob@sub.example.com').decision).to.equal('require');
    expect(decided('bob@north.parts.example').decision).to.equal('allow');
    expect(decided('bob@parts.example').decision).to.equal('require');
    expect(decided('bob@notparts.example').decision).to.equal('require');
    expect(decided('"@example.com"@example.net').decision).to.equal('require');
  });

  it(`treats a domain as external even when a mailbox uses it ${verifies('contract:8:internal-domains')}`, () => {
    const rig = asking([internal]);
    const emails = [...rig.ports.directory.state.mailboxes.values()].map(({ email }) => email);
    expect(emails).not.to.deep.equal([]);
    for (const email of emails) {
      const decided = decideSendPolicy(rig, mailbox, { recipients: [email], ...NOTHING });
      expect(decided).to.include({ decision: 'require', ruleId: 'default.irreversible' });
    }
  });

  it(`denies a send with a header field that the policy does not list ${verifies('contract:7:custom-headers')}`, () => {
    const rules = [{ id: 'all', when: {}, then: { decision: 'allow' } }];
    const decided = (headers: readonly string[], custom_headers: readonly string[]) =>
      decideSendPolicy(asking(rules, { custom_headers }), mailbox, {
        ...NOTHING,
        recipients: ['bob@example.com'],
        headers,
      });
    expect(decided(['X-Ticket'], [])).to.include({ decision: 'deny', ruleId: 'custom_headers', version: 2 });
    expect(decided(['List-Id', 'Importance'], [])).to.include({ decision: 'allow' });
    expect(decided(['X-Ticket', 'List-Id'], ['x-ticket'])).to.include({ decision: 'allow', ruleId: 'all' });
    expect(decided(['X-Ticket', 'X-Other'], ['x-ticket'])).to.include({ decision: 'deny' });
    // An older policy may list it, although relays read orders from it.
    expect(decided(['X-SMTPAPI'], ['x-smtpapi'])).to.include({ decision: 'deny' });
  });

  it(`treats every recipient whom the mailbox has not written to as a first contact ${verifies('contract:8:recipients')}`, () => {
    const rules = [{ id: 'known', when: { first_contact: false }, then: { decision: 'allow' } }];
    const decided = (recipients: readonly string[], writtenTo: readonly string[]) =>
      decideSendPolicy(asking(rules), mailbox, {
        ...NOTHING,
        recipients,
        writtenTo: new Set(writtenTo),
      }).decision;
    expect(decided(['bob@example.com'], [])).to.equal('require');
    expect(decided(['bob@example.com'], ['bob@example.com'])).to.equal('allow');
    expect(decided(['bob@example.com', 'eve@example.com'], ['bob@example.com'])).to.equal('require');
  });

  it('considers every attachment and the number of recipients', () => {
    const rules = [
      {
        id: 'few',
        when: { recipient_count: { max: 1 }, attachment_types: ['image/*'] },
        then: { decision: 'allow' },
      },
    ];
    const decided = (recipients: readonly string[], ...types: readonly string[]) =>
      decideSendPolicy(asking(rules), mailbox, {
        ...NOTHING,
        recipients,
        attachments: types.map((contentType) => ({ contentType, size: 10 })),
      }).decision;
    expect(decided(['bob@example.com'], 'IMAGE/png', 'image/gif')).to.equal('allow');
    expect(decided(['bob@example.com'], 'image/png', 'application/pdf')).to.equal('require');
    expect(decided(['bob@example.com', 'eve@example.com'], 'image/png')).to.equal('require');
  });

  it('considers the media type of an attachment without its parameters', () => {
    const exact = ['application/x-msdownload', 'text/csv'];
    const rules = [{ id: 'no', when: { attachment_types: exact }, then: { decision: 'deny' } }];
    const decided = (contentType: string) =>
      decideSendPolicy(asking(rules), mailbox, {
        ...NOTHING,
        recipients: ['bob@example.com'],
        attachments: [{ contentType, size: 10 }],
      }).decision;
    expect(decided('application/x-msdownload; charset=utf-8')).to.equal('deny');
    expect(decided('Text/CSV ;charset=utf-8')).to.equal('deny');
    expect(decided('text/csv-schema; charset=utf-8')).not.to.equal('deny');
  });

  it('counts the messages of an operation', () => {
    const rules = [{ id: 'bulk', when: { bulk_count: { min: 3 } }, then: { decision: 'deny' } }];
    const decided = (count: number) => decideActionPolicy(asking(rules), 'mbx_0', ['move'], count);
    expect(decided(2)).to.include({ decision: 'allow', ruleId: 'default.reversible', version: 2 });
    expect(decided(3)).to.include({ decision: 'deny', ruleId: 'bulk', version: 2 });
  });
});
