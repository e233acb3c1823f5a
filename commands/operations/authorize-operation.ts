/** Authorization mode × policy → what happens now (`contract.md` 6, first table). Pure. */
import { GatewayError } from '../kernel/errors.ts';
import type { PolicyDecision } from '../policy/decide-policy.ts';

export const MODES = ['execute_or_request_approval', 'execute', 'preview'] as const;
export type Mode = (typeof MODES)[number];

const policyDetails = ({ decision, ruleId, version }: PolicyDecision) => ({
  policy: { decision, rule_id: ruleId, version },
});

/** `run` or `preview`. Throws `policy_denied` or `approval_required`. */
export function authorizeOperation(mode: Mode, policy: PolicyDecision): 'run' | 'preview' {
  if (mode === 'preview') return 'preview';
  switch (policy.decision) {
    case 'allow':
      return 'run';
    case 'deny':
      throw new GatewayError('policy_denied', `Policy rule ${policy.ruleId} denies this.`, {
        details: policyDetails(policy),
      });
    case 'require':
      throw new GatewayError(
        'approval_required',
        `Policy rule ${policy.ruleId} wants a person's approval first.`,
        {
          details: policyDetails(policy),
        },
      );
  }
}
