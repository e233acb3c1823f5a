import { expect } from 'chai';
import { GatewayError } from '../../../../commands/kernel/errors.ts';
import { authorizeOperation, type Mode, MODES } from '../../../../commands/operations/authorize-operation.ts';
import type { PolicyDecision } from '../../../../commands/policy/decide-policy.ts';
import { thrown } from '../../../support/thrown.ts';
import { verifies } from '../../../support/verifies.ts';

const decided = (decision: PolicyDecision['decision']): PolicyDecision => ({
  decision,
  terms: null,
  undoSeconds: 0,
  ruleId: 'r',
  version: 3,
});

/** The first table of `contract.md` 6, while nobody can be asked for an approval. */
const TABLE: Record<(typeof MODES)[number], Record<PolicyDecision['decision'], string>> = {
  execute_or_request_approval: { allow: 'run', require: 'approval_required', deny: 'policy_denied' },
  execute: { allow: 'run', require: 'approval_required', deny: 'policy_denied' },
  request_approval: { allow: 'approval_required', require: 'approval_required', deny: 'policy_denied' },
  prepare: { allow: 'operation_unsupported', require: 'approval_required', deny: 'policy_denied' },
  preview: { allow: 'preview', require: 'preview', deny: 'preview' },
};

describe(`authorizeOperation ${verifies('contract:6:modes', 'contract:6:approval-required', 'contract:6:denied')}`, () => {
  for (const mode of MODES) {
    for (const decision of ['allow', 'require', 'deny'] as const) {
      it(`${mode} where policy says ${decision}: ${TABLE[mode][decision]}`, () => {
        const answer = (): string => {
          try {
            return authorizeOperation(mode, decided(decision));
          } catch (error) {
            if (!(error instanceof GatewayError)) throw error;
            expect(error.details['policy']).to.deep.equal({ decision, rule_id: 'r', version: 3 });
            return error.code;
          }
        };
        expect(answer()).to.equal(TABLE[mode][decision]);
      });
    }
  }

  it('says with each refusal what to do next', () => {
    const said = (mode: Mode, decision: PolicyDecision['decision']): string =>
      thrown(() => authorizeOperation(mode, decided(decision))).message;
    expect(said('execute', 'require')).to.match(/rule r .*let a person do it, or have the policy changed/);
    expect(said('request_approval', 'allow')).to.match(/use execute/);
    expect(said('prepare', 'allow')).to.match(/preview shows .*, execute does it/);
  });
});
