import { expect } from 'chai';
import { PolicyEffect } from '../../../../commands/values/policy-document.ts';
import { type ApprovalMode, defaultTerms, termsFor } from '../../../../commands/policy/approval-terms.ts';
import type { PolicyDecision } from '../../../../commands/policy/decide-policy.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const decided = (written: object): PolicyDecision => {
  const effect = PolicyEffect.parse(written);
  return {
    decision: effect.decision,
    terms: effect.decision === 'require' ? effect : null,
    undoSeconds: effect.decision === 'deny' ? 0 : (effect.undo_seconds ?? 0),
    ruleId: 'r',
    version: 1,
  };
};
const ALLOW = decided({ decision: 'allow' });
const REQUIRE = decided({ decision: 'require', quorum: 2, approver_role: 'admin', exclude_owner: true });

describe('termsFor', () => {
  it(`defaults to one approver, a day to decide and an hour to commit ${verifies('contract:8:default-terms')}`, () => {
    expect(termsFor('request_approval', ALLOW)).to.deep.equal({
      quorum: 1,
      approver_role: 'approver',
      exclude_owner: false,
      decision_ttl: 86_400,
      commit_ttl: 3_600,
      auto_commit: false,
      undo_seconds: 0,
    });
    expect(defaultTerms()).to.include({ decision: 'require', quorum: 1 });
  });

  const TABLE: readonly [ApprovalMode, PolicyDecision, number, boolean][] = [
    ['execute_or_request_approval', REQUIRE, 2, true],
    ['request_approval', REQUIRE, 2, false],
    ['prepare', REQUIRE, 2, false],
    ['request_approval', ALLOW, 1, false],
    ['prepare', ALLOW, 0, false],
  ];
  for (const [mode, decision, quorum, auto_commit] of TABLE) {
    it(`returns quorum ${String(quorum)} and auto_commit ${String(auto_commit)} when the mode is ${mode} and policy says ${decision.decision} ${verifies('contract:8:auto-commit')}`, () => {
      expect(termsFor(mode, decision)).to.include({ quorum, auto_commit });
    });
  }

  it(`prefers the rule's terms to those of the mode ${verifies('contract:8:auto-commit')}`, () => {
    for (const mode of ['execute_or_request_approval', 'request_approval', 'prepare'] as const) {
      for (const auto_commit of [true, false]) {
        const rule = decided({ decision: 'require', auto_commit, decision_ttl: 60, commit_ttl: 120 });
        expect(termsFor(mode, rule)).to.include({ auto_commit, decision_ttl: 60, commit_ttl: 120 });
      }
    }
  });

  it("includes the rule's undo delay, also when the rule allows", () => {
    const allow = decided({ decision: 'allow', undo_seconds: 30 });
    expect(termsFor('prepare', allow).undo_seconds).to.equal(30);
    expect(termsFor('prepare', decided({ decision: 'require', undo_seconds: 40 })).undo_seconds).to.equal(40);
  });

  it('throws when policy denies', () => {
    expect(() => termsFor('prepare', decided({ decision: 'deny' }))).to.throw(/no terms/);
  });
});
