import { expect } from 'chai';
import { GatewayError } from '../../../../commands/values/errors.ts';
import { authorizeOperation, type Mode, MODES } from '../../../../commands/operations/authorize-operation.ts';
import type { PolicyDecision } from '../../../../commands/policy/decide-policy.ts';
import { thrown } from '../../../support/suite/thrown.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const decided = (decision: PolicyDecision['decision']): PolicyDecision => ({
  decision,
  terms: null,
  undoSeconds: 0,
  ruleId: 'r',
  version: 3,
});

type Table = Record<(typeof MODES)[number], Record<PolicyDecision['decision'], string>>;

/** The table of modes of `contract.md` 6; an approval is written as the mode whose terms it has. */
const TABLE: Table = {
  execute_or_request_approval: {
    allow: 'run',
    require: 'approval as execute_or_request_approval',
    deny: 'policy_denied',
  },
  execute: { allow: 'run', require: 'approval_required', deny: 'policy_denied' },
  request_approval: {
    allow: 'approval as request_approval',
    require: 'approval as request_approval',
    deny: 'policy_denied',
  },
  prepare: { allow: 'approval as prepare', require: 'approval as prepare', deny: 'policy_denied' },
  preview: { allow: 'preview', require: 'preview', deny: 'preview' },
};

const EXPUNGE: Table = {
  ...TABLE,
  execute_or_request_approval: {
    allow: 'approval as prepare',
    require: 'approval as prepare',
    deny: 'policy_denied',
  },
  execute: { allow: 'approval_required', require: 'approval_required', deny: 'policy_denied' },
};

const answer = (mode: Mode, decision: PolicyDecision['decision'], neverDirect: boolean): string => {
  try {
    const admission = authorizeOperation({ mode, policy: decided(decision), mayRequest: true, neverDirect });
    return typeof admission === 'string' ? admission : `approval as ${admission.request}`;
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    expect(error.details['policy']).to.deep.equal({ decision, rule_id: 'r', version: 3 });
    return error.code;
  }
};

describe(`authorizeOperation ${verifies('contract:6:modes', 'contract:6:approval-required', 'contract:6:denied')}`, () => {
  for (const mode of MODES) {
    for (const decision of ['allow', 'require', 'deny'] as const) {
      it(`answers "${TABLE[mode][decision]}" when the mode is ${mode} and policy says ${decision}`, () => {
        expect(answer(mode, decision, false)).to.equal(TABLE[mode][decision]);
      });

      it(`answers "${EXPUNGE[mode][decision]}" to expunge when the mode is ${mode} and policy says ${decision} ${verifies('contract:6:expunge-never-direct')}`, () => {
        expect(answer(mode, decision, true)).to.equal(EXPUNGE[mode][decision]);
      });
    }
  }

  it(`requires approvals:request when an approval is needed ${verifies('contract:6:request-scope')}`, () => {
    for (const mode of MODES) {
      for (const decision of ['allow', 'require'] as const) {
        const asked = { mode, policy: decided(decision), mayRequest: false };
        if (TABLE[mode][decision].startsWith('approval as')) {
          const error = thrown(() => authorizeOperation(asked));
          expect(error).to.deep.include({
            code: 'insufficient_scope',
            details: { required: ['approvals:request'] },
          });
        } else if (TABLE[mode][decision] === 'run') {
          expect(authorizeOperation(asked)).to.equal('run');
        }
      }
    }
  });
});
