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
    const message = `Policy rule ${policy.ruleId} wants a person's approval first.`;
    throw new GatewayError('approval_required', message, { details });
  }
  if (mode === 'request_approval') {
    throw new GatewayError(
      'approval_required',
      'This mode asks a person first, and nobody can be asked here.',
      {
        details,
      },
    );
  }
  if (mode === 'prepare') {
    throw new GatewayError(
      'operation_unsupported',
      'Nothing can be prepared for a later commit here; use execute.',
      {
        details,
      },
    );
  }
  return 'run';
}
