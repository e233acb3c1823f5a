import { expect } from 'chai';
import { putPolicy } from '../../../../commands/policy/set-policy.ts';
import { listPolicyVersions } from '../../../../read-api/policy/get-policy.ts';
import { startMemoryGateway } from '../../../support/worlds/memory-gateway.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const rule = (id: string, decision = 'deny') => ({ id, when: {}, then: { decision } });
interface Answer {
  readonly items: readonly object[];
  readonly page: { readonly next_cursor: string | null };
}
const UNCHANGED = { added: [], removed: [], changed: [], reordered: false, default_changed: false };

describe('list_policy_versions', () => {
  it(`returns who changed which rules, newest first, page by page ${verifies('contract:17:policy-versions')}`, async () => {
    const gateway = await startMemoryGateway();
    const token = await gateway.signIn();
    for (const document of [
      { rules: [rule('a'), rule('b')] },
      { rules: [rule('b'), rule('a'), rule('c')] },
      { rules: [rule('b'), rule('c', 'allow')], default: { decision: 'deny' } },
      ...Array.from({ length: 8 }, (_, index) => ({ rules: [rule(`r${String(index)}`)] })),
    ])
      await gateway.call(putPolicy, document, { token });

    const list = (input: object) => gateway.call<Answer>(listPolicyVersions, input);
    const first = await list({ limit: 8 });
    expect(first.items[0]).to.deep.include({ version: 11, rule_count: 1, set_by: gateway.org.userId });
    const { items, page } = await list({ limit: 8, cursor: first.page.next_cursor });
    expect(page.next_cursor).to.equal(null);
    expect(items).to.have.length(3);
    expect(items[0]).to.deep.include({
      version: 3,
      rule_count: 2,
      changes: { ...UNCHANGED, removed: ['a'], changed: ['c'], default_changed: true },
    });
    expect(items[1]).to.deep.include({
      version: 2,
      changes: { ...UNCHANGED, added: ['c'], reordered: true },
    });
    expect(items[2]).to.deep.include({ version: 1, changes: { ...UNCHANGED, added: ['a', 'b'] } });
  });
});
