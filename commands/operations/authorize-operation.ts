/** Authorization mode × policy → what happens now (`contract.md` 6, modes). Pure. */
import { GatewayError } from '../values/errors.ts';
import type { ApprovalMode } from '../policy/approval-terms.ts';
import type { PolicyDecision } from '../policy/decide-policy.ts';

export const MODES = [
  'execute_or_request_approval',
  'execute',
  'request_approval',
  'prepare',
  'preview',
] as const;
export type Mode = (typeof MODES)[number];

export interface AskedMode {
  readonly mode: Mode;
  readonly policy: PolicyDecision;
  /** The caller holds `approvals:request` on the mailbox. */
  readonly mayRequest: boolean;
  /** Never runs directly, even where policy allows it: an expunge runs through its approval. Absent = no. */
  readonly neverDirect?: boolean;
}

/** `request`: an approval is requested, with the terms of this mode. */
export type Admission = 'run' | 'preview' | { readonly request: ApprovalMode };

/**
 * Throws `policy_denied`; `approval_required` for a mode that only executes; `insufficient_scope` when an
 * approval is needed that the caller may not request.
 */
export function authorizeOperation(asked: AskedMode): Admission {
  const { mode, policy, neverDirect = false } = asked;
  if (mode === 'preview') return 'preview';
  const details = { policy: { decision: policy.decision, rule_id: policy.ruleId, version: policy.version } };
  if (policy.decision === 'deny') {
    throw new GatewayError('policy_denied', `Policy rule ${policy.ruleId} denies this.`, { details });
  }
  if (mode === 'request_approval' || mode === 'prepare') return request(asked, mode);
  const needsApproval = neverDirect || policy.decision === 'require';
  if (!needsApproval) return 'run';
  if (mode === 'execute') throw new GatewayError('approval_required', approvalRequired(asked), { details });
  return request(asked, neverDirect ? 'prepare' : mode);
}

const THEN = 'then run it with email_requests, action commit.';

const approvalRequired = ({ policy: { decision, ruleId } }: AskedMode): string =>
  decision === 'require'
    ? `Policy rule ${ruleId} requires a person's approval, which mode execute does not request. Nothing was done. Ask with email_act, authorization.mode request_approval; once it is approved, ${THEN}`
    : `This never runs at once. Nothing was done. Prepare it with email_act, authorization.mode prepare; ${THEN}`;

function request({ mayRequest }: AskedMode, mode: ApprovalMode): Admission {
  if (mayRequest) return { request: mode };
  const message = 'This needs an approval, and the token lacks the scope approvals:request.';
  throw new GatewayError('insufficient_scope', message, { details: { required: ['approvals:request'] } });
}
