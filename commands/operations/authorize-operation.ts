/** Authorization mode × policy → what happens now (`contract.md` 6, first table). Pure. */
import { GatewayError } from '../kernel/errors.ts';
import type { PolicyDecision } from '../policy/decide-policy.ts';

export const MODES = [
  'execute_or_request_approval',
  'execute',
  'request_approval',
  'prepare',
  'preview',
] as const;
export type Mode = (typeof MODES)[number];

const policyDetails = ({ decision, ruleId, version }: PolicyDecision) => ({
  policy: { decision, rule_id: ruleId, version },
});

/**
 * `run` or `preview`. Throws `policy_denied`; `approval_required` where somebody would have to approve, since nobody can be
 * asked here; `operation_unsupported` for what would be prepared to be committed later.
 */
export function authorizeOperation(mode: Mode, policy: PolicyDecision): 'run' | 'preview' {
  if (mode === 'preview') return 'preview';
  const details = policyDetails(policy);
  if (policy.decision === 'deny') {
    throw new GatewayError('policy_denied', `Policy rule ${policy.ruleId} denies this.`, { details });
  }
  if (policy.decision === 'require') {
    const message =
      `Policy rule ${policy.ruleId} wants a person's approval, and nobody can be asked for one yet: let a person do it, ` +
      'or have the policy changed. Nothing was done.';
    throw new GatewayError('approval_required', message, { details });
  }
  if (mode === 'request_approval') {
    const message = 'Nobody can be asked for an approval yet, and policy wants none: use execute.';
    throw new GatewayError('approval_required', message, { details });
  }
  if (mode === 'prepare') {
    const message =
      'Nothing can be prepared for a later commit yet: preview shows what would happen, execute does it.';
    throw new GatewayError('operation_unsupported', message, { details });
  }
  return 'run';
}
