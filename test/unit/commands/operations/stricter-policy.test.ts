import { expect } from 'chai';
import type { RequireEffect } from '../../../../commands/values/policy-document.ts';
import type { ApprovalTerms } from '../../../../commands/operations/approval-events.ts';
import { isStricter } from '../../../../commands/operations/revalidate-approval.ts';
import { defaultTerms } from '../../../../commands/policy/approval-terms.ts';
import type { PolicyDecision } from '../../../../commands/policy/decide-policy.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const decided = (
  decision: PolicyDecision['decision'],
  terms: Partial<RequireEffect> = {},
): PolicyDecision => ({
  decision,
  terms: decision === 'require' ? { ...defaultTerms(), ...terms } : null,
  undoSeconds: 0,
  ruleId: 'r',
  version: 1,
});
const approved = (terms: Partial<ApprovalTerms> = {}): ApprovalTerms => ({
  ...defaultTerms(),
  auto_commit: false,
  undo_seconds: 0,
  ...terms,
});

describe(`isStricter ${verifies('contract:9:commit-checks')}`, () => {
  it('is true when any one term is stricter, whatever else is less strict', () => {
    expect(isStricter(decided('deny'), approved({ quorum: 10 }))).to.equal(true);
    expect(isStricter(decided('require'), approved({ quorum: 0 }))).to.equal(true);
    expect(isStricter(decided('require', { quorum: 3 }), approved({ quorum: 2 }))).to.equal(true);
    const owner = decided('require', { approver_role: 'owner' });
    expect(isStricter(owner, approved({ quorum: 5, approver_role: 'admin' }))).to.equal(true);
    expect(isStricter(decided('require', { exclude_owner: true }), approved({ quorum: 5 }))).to.equal(true);
  });

  it('is false when nothing is stricter', () => {
    expect(isStricter(decided('allow'), approved({ quorum: 0 }))).to.equal(false);
    expect(isStricter(decided('require'), approved())).to.equal(false);
    const stricter = approved({ quorum: 2, approver_role: 'owner', exclude_owner: true });
    expect(isStricter(decided('require'), stricter)).to.equal(false);
  });
});
