import { expect } from 'chai';
import { GatewayError } from '../../../../commands/kernel/errors.ts';
import { authorizeOperation, MODES } from '../../../../commands/operations/authorize-operation.ts';
import {
  decideByDefault,
  type PolicyDecision,
  strictest,
} from '../../../../commands/operations/default-policy.ts';
import { verifies } from '../../../support/verifies.ts';

const decided = (decision: PolicyDecision['decision']): PolicyDecision => ({
  decision,
  ruleId: 'r',
  version: 3,
});

/** The first table of `contract.md` 6, for the modes that exist. */
const TABLE: Record<(typeof MODES)[number], Record<PolicyDecision['decision'], string>> = {
  execute_or_request_approval: { allow: 'run', require: 'approval_required', deny: 'policy_denied' },
  execute: { allow: 'run', require: 'approval_required', deny: 'policy_denied' },
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
});

describe('the built-in policy', () => {
  it(`allows a person everything ${verifies('contract:8:default')}`, () => {
    for (const action of ['send', 'expunge', 'move', 'trash'] as const) {
      expect(decideByDefault('person', action).decision).to.equal('allow');
    }
  });

  it(`wants an approval for what cannot be undone when no person acts ${verifies('contract:8:default')}`, () => {
    for (const actor of ['agent', 'delegated'] as const) {
      for (const action of ['send', 'expunge'] as const) {
        expect(decideByDefault(actor, action).decision).to.equal('require');
      }
      for (const action of [
        'set_flags',
        'move',
        'copy',
        'archive',
        'spam',
        'trash',
        'draft_create',
      ] as const) {
        expect(decideByDefault(actor, action).decision).to.equal('allow');
      }
    }
  });

  it(`lets the strictest of several decisions hold ${verifies('contract:8:strictest')}`, () => {
    expect(strictest([decided('allow'), decided('deny'), decided('require')]).decision).to.equal('deny');
    expect(strictest([decided('allow'), decided('require')]).decision).to.equal('require');
    expect(strictest([decided('allow')]).decision).to.equal('allow');
  });
});
