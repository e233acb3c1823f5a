import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { systemAuthor } from '../../../../commands/kernel/decide-and-append.ts';
import { policyInForce } from '../../../../commands/policy/decide-for-caller.ts';
import { readPolicyDocument, setPolicy } from '../../../../commands/policy/set-policy.ts';
import { createMailbox } from '../../../../commands/mailboxes/manage-mailboxes.ts';
import { type MemoryGateway, startMemoryGateway } from '../../../support/worlds/memory-gateway.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { thrown } from '../../../support/suite/thrown.ts';
import { verifies } from '../../../support/suite/verifies.ts';

describe('setPolicy', () => {
  let gateway: MemoryGateway;
  before(async () => {
    gateway = await startMemoryGateway();
  });

  const read = (written: unknown) =>
    readPolicyDocument(gateway.ports.directory.state, gateway.org.orgId, written);
  const set = (written: unknown) => {
    const { ports, org } = gateway;
    return setPolicy(ports, systemAuthor(ports, org.orgId), org.orgId, read(written));
  };
  const issuesOf = (written: unknown): Record<string, string> => {
    const error = thrown(() => read(written));
    expect(error.code).to.equal('invalid_request');
    const issues = error.details['issues'] as { path: string; message: string }[];
    return Object.fromEntries(issues.map(({ path, message }) => [path, message]));
  };
  const rule = (when: object, then: object = { decision: 'deny' }, id = 'r') => ({ id, when, then });

  it(`records an event whose versions count from 1, and none for the same policy ${verifies('contract:8:versions')}`, async () => {
    const inForce = () => policyInForce(gateway.ports.directory.state, gateway.org.orgId);
    expect(inForce()).to.deep.equal({
      version: 0,
      internal_domains: [],
      custom_headers: [],
      rules: [],
      default: null,
    });
    expect(await set({ rules: [] })).to.deep.equal({ version: 0, changed: false, position: null });
    const rules = [rule({ actions: ['send'], recipient_domains: ['Example.COM'] })];
    expect(await set({ rules })).to.include({ version: 1, changed: true });
    expect(inForce()).to.deep.include({ version: 1, default: null });
    expect(inForce().rules[0]?.when.recipient_domains).to.deep.equal(['example.com']);
    expect(await set({ rules })).to.include({ version: 1, changed: false });
    expect(await set({ version: 1, rules, default: { decision: 'deny' } })).to.include({ version: 2 });
    const stored = await gateway.ports.events.readStream(`policy-${gateway.org.orgId}`);
    expect(stored.map(({ type }) => type)).to.deep.equal(['PolicySet', 'PolicySet']);
  });

  it('refuses a policy based on a version that is no longer in force', async () => {
    const error = await rejection(set({ version: 1, rules: [] }));
    expect(error).to.deep.include({ code: 'version_conflict', details: { version: 2 } });
  });

  it(`names every mistake and the rule it is in ${verifies('contract:8:names-issue')}`, () => {
    expect(issuesOf({ rules: [rule({ colour: 'red' })] })).to.have.property('rules.0.when.colour');
    expect(issuesOf({ rules: [rule({ actions: ['fly'] })] })).to.have.property('rules.0.when.actions.0');
    expect(issuesOf({ rules: [rule({ bulk_count: { min: 3, max: 2 } })] })).to.deep.equal({
      'rules.0.when.bulk_count': 'Rule r: min is more than max.',
    });
    expect(issuesOf({ rules: [rule({ recipient_domains: ['a b'] })] })).to.have.property(
      'rules.0.when.recipient_domains.0',
    );
    expect(issuesOf({ rules: [rule({}, undefined, 'default.person'), rule({}), rule({})] })).to.deep.equal({
      'rules.0.id': 'Rule default.person: This id is kept for the built-in policy.',
      'rules.2.id': 'Rule r: Another rule has this id.',
    });
    expect(issuesOf({ rules: [rule({ actions: ['move'], first_contact: true })] })).to.deep.equal({
      'rules.0.when.first_contact':
        'Rule r: Only a send has recipients and attachments: this rule would never match.',
    });
    const tooMany = rule({}, { decision: 'require', quorum: 11 }, 'four.eyes');
    expect(issuesOf({ rules: [rule({}), tooMany] })['rules.1.then.quorum']).to.match(
      /^Rule four\.eyes: .*10/,
    );
    const nameless = issuesOf({ rules: [rule({}, { decision: 'maybe' }, 'Not an id')] });
    expect(Object.values(nameless).join()).not.to.include('Not an id');
    expect(issuesOf({ rules: [rule({ colour: 'red' })] })['rules.0.when.colour']).to.match(
      /^Rule r: .*not known/,
    );
    expect(issuesOf({ rulez: [], rules: [] })['rulez']).to.match(/not known/);
    expect(issuesOf([])).to.have.property('');
  });

  it('accepts the example of the documentation', () => {
    const text = readFileSync(join(import.meta.dirname, '../../../../docs/policy.md'), 'utf8');
    const [, example = ''] = /```json\n(.*?)```/s.exec(text) ?? [];
    expect(read(JSON.parse(example)).rules.map(({ id }) => id)).to.deep.equal([
      'no-programs',
      'own-domain',
      'bulk',
    ]);
  });

  it(`accepts an undo delay of up to an hour when something may run ${verifies('contract:8:undo-range')}`, () => {
    const sends = { actions: ['send'] };
    for (const decision of ['allow', 'require']) {
      const [taken] = read({ rules: [rule(sends, { decision, undo_seconds: 3_600 })] }).rules;
      expect(taken?.then).to.include({ decision, undo_seconds: 3_600 });
      for (const undo_seconds of [3_601, -1, 0.5]) {
        const issues = issuesOf({ rules: [rule(sends, { decision, undo_seconds })] });
        expect(Object.keys(issues)).to.deep.equal(['rules.0.then.undo_seconds']);
      }
    }
    expect(issuesOf({ rules: [rule({}, { decision: 'deny', undo_seconds: 5 })] })).to.have.property(
      'rules.0.then.undo_seconds',
    );
  });

  it(`refuses an undo delay when the rule allows anything but sends ${verifies('contract:8:undo-of-sends')}`, () => {
    const held = { decision: 'allow', undo_seconds: 5 };
    for (const when of [{}, { actions: ['send', 'trash'] }, { bulk_count: { min: 2 } }]) {
      expect(Object.keys(issuesOf({ rules: [rule(when, held)] }))).to.deep.equal([
        'rules.0.then.undo_seconds',
      ]);
      expect(read({ rules: [rule(when, { ...held, decision: 'require' })] }).rules).to.have.length(1);
      expect(read({ rules: [rule(when, { ...held, undo_seconds: 0 })] }).rules).to.have.length(1);
    }
    expect(read({ rules: [rule({ recipient_count: { max: 3 } }, held)] }).rules).to.have.length(1);
    expect(Object.keys(issuesOf({ rules: [], default: held }))).to.deep.equal(['default.undo_seconds']);
  });

  it(`accepts internal domains and custom header fields, and refuses invalid ones ${verifies('contract:8:internal-domains', 'contract:7:custom-headers')}`, async () => {
    const said = { internal_domains: ['Bücher.Example', '*.Example.COM'], custom_headers: ['X-Ticket'] };
    expect(read({ ...said, rules: [] })).to.deep.include({
      internal_domains: ['xn--bcher-kva.example', '*.example.com'],
      custom_headers: ['x-ticket'],
    });
    expect(read({ rules: [] })).to.deep.include({ internal_domains: [], custom_headers: [] });
    const wrong = {
      internal_domains: ['example.com', 'a b', '*'],
      custom_headers: ['X-Ticket', 'X-SMTPAPI', 'x-bcc', 'Received', 'Bcc', 'X-Mailbox-Gateway-Draft'],
      rules: [],
    };
    expect(Object.keys(issuesOf(wrong))).to.deep.equal([
      ...['internal_domains.1', 'internal_domains.2'],
      ...[1, 2, 3, 4, 5].map((at) => `custom_headers.${String(at)}`),
    ]);
    const { version } = await set({ ...said, rules: [] });
    expect(await set({ ...said, rules: [] })).to.include({ version, changed: false });
    expect(await set({ internal_domains: said.internal_domains, rules: [] })).to.include({ changed: true });
    expect(await set({ rules: [] })).to.include({ version: version + 2, changed: true });
  });

  it('requires mailboxes, members and agents of the organisation', async () => {
    const nowhere = { host: 'imap.example.com', port: 993, security: 'tls' };
    const auth = { type: 'password', username: 'anna', password: 'secret' };
    const mailbox = await gateway.call<{ id: string }>(createMailbox, {
      email: 'anna@example.com',
      imap: nowhere,
      smtp: nowhere,
      auth,
    });
    const { userId, agentId } = gateway.org;
    const when = { mailbox_ids: [mailbox.id], principal_ids: [userId, agentId] };
    expect(read({ rules: [rule(when)] }).rules).to.have.length(1);
    expect(
      issuesOf({ rules: [rule({ mailbox_ids: [mailbox.id, 'mbx_0'], principal_ids: ['usr_0'] })] }),
    ).to.have.keys('rules.0.when.mailbox_ids.1', 'rules.0.when.principal_ids.0');
  });
});
