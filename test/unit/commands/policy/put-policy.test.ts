import { expect } from 'chai';
import type { OrgPolicy } from '../../../../commands/policy/set-policy.ts';
import { putPolicy } from '../../../../commands/policy/set-policy.ts';
import { getPolicy } from '../../../../read-api/policy/get-policy.ts';
import {
  type CallOptions,
  type MemoryGateway,
  startMemoryGateway,
} from '../../../support/worlds/memory-gateway.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { verifies } from '../../../support/suite/verifies.ts';

interface Refusal {
  readonly details: { readonly issues: readonly { readonly path: string; readonly message: string }[] };
}

const rule = (id: string, then: object = { decision: 'deny' }) => ({ id, when: { actions: ['send'] }, then });

describe('PUT /org/policy', () => {
  let gateway: MemoryGateway;
  let owner: string;
  beforeEach(async () => {
    gateway = await startMemoryGateway();
    owner = await gateway.signIn();
  });

  const put = (document: object, options: CallOptions = {}) =>
    gateway.call<OrgPolicy>(putPolicy, document, { ...options, token: owner });
  const issuesOf = async (document: object) => {
    const refused: unknown = await rejection(put(document));
    return (refused as Refusal).details.issues;
  };
  const read = (input = {}) => gateway.call<OrgPolicy>(getPolicy, input);

  it(`starts from the built-in policy as version 0 ${verifies('contract:17:policy')}`, async () => {
    const { built_in_rules: rules, ...policy } = await read();
    expect(policy).to.deep.equal({
      version: 0,
      internal_domains: [],
      custom_headers: [],
      rules: [],
      default: null,
      set_at: null,
      set_by: null,
    });
    expect(rules.map(({ id }) => id)).to.deep.equal([
      'default.person',
      'default.irreversible',
      'default.reversible',
    ]);
  });

  it(`puts a version in force, with who set it and when ${verifies('contract:17:policy')}`, async () => {
    const answer = await put({ rules: [rule('no-mail')] }, { ifMatch: '0' });
    expect(answer).to.deep.include({ version: 1, rules: [rule('no-mail')], set_by: gateway.org.userId });
    expect(answer.set_at).to.equal(gateway.clock.now().toISOString());
    expect(await read()).to.deep.equal(answer);
    expect(gateway.ports.directory.state.policies.get(gateway.org.orgId)).to.include({ version: 1 });
  });

  it(`compares If-Match and version with the policy in force, and leaves the key free ${verifies('contract:17:policy')}`, async () => {
    await put({ rules: [rule('a')] });
    for (const [document, options] of [
      [{ rules: [rule('b')] }, { ifMatch: '0' }],
      [{ version: 0, rules: [rule('b')] }, {}],
      [{ version: 1, rules: [rule('b')] }, { ifMatch: '2' }],
      // Even when the policy is the one in force.
      [{ rules: [rule('a')] }, { ifMatch: '0' }],
      [{ version: 0, rules: [rule('a')] }, {}],
    ] as const) {
      const refused = await rejection(put(document, { key: 'k', ...options }));
      expect(refused).to.deep.include({ code: 'version_conflict', details: { version: 1 } });
    }
    expect(await put({ rules: [rule('a')] }, { ifMatch: '1' })).to.include({ version: 1 });
    expect(await put({ version: 1, rules: [rule('b')] }, { key: 'k', ifMatch: '1' })).to.include({
      version: 2,
    });
    expect(await put({ rules: [rule('c')] }, { ifMatch: '*' })).to.include({ version: 3 });
  });

  it('answers a repeat of its key with the policy in force', async () => {
    const document = { rules: [rule('a')] };
    await put(document, { key: 'k' });
    await put({ rules: [rule('b')] });
    const { output, replayed } = await gateway.invoke(putPolicy, document, { key: 'k', token: owner });
    expect(replayed).to.equal(true);
    expect(output).to.include({ version: 2 });
  });

  it(`names the invalid rule by path and id ${verifies('contract:8:names-issue')}`, async () => {
    const rules = ['a', 'b', 'c'].map((id) => rule(id));
    const wrong = rule('four-eyes', { decision: 'require', quorum: 0 });
    const [issue] = await issuesOf({ rules: [...rules, wrong] });
    expect(issue?.path).to.equal('rules.3.then.quorum');
    expect(issue?.message).to.match(/^Rule four-eyes: /);
    const lost = { id: 'lost', when: { mailbox_ids: ['mbx_none'] }, then: { decision: 'deny' } };
    expect(await issuesOf({ rules: [lost] })).to.deep.equal([
      {
        path: 'rules.0.when.mailbox_ids.0',
        code: 'custom',
        message: 'Rule lost: There is no such id in this organisation.',
      },
    ]);
  });

  it(`refuses tokens, whatever their scopes ${verifies('contract:3:policy-manage')}`, async () => {
    const refused = await rejection(gateway.call(putPolicy, { rules: [] }));
    expect(refused).to.include({ code: 'insufficient_scope' });
  });

  it(`shows the policy as of an earlier moment ${verifies('contract:17:as-of')}`, async () => {
    const founded = gateway.clock.now().toISOString();
    gateway.clock.advance(10);
    const { set_at: then } = await put({ rules: [rule('a')] });
    gateway.clock.advance(10);
    await put({ rules: [rule('b')] });
    expect(await read({ as_of: founded })).to.include({ version: 0, set_by: null });
    expect((await read({ as_of: then })).rules.map(({ id }) => id)).to.deep.equal(['a']);
    expect(await rejection(read({ as_of: '2020-01-01T00:00:00Z' }))).to.include({ code: 'not_found' });
    expect(await rejection(read({ as_of: '2030-01-01T00:00:00Z' }))).to.include({ code: 'invalid_request' });
  });
});
