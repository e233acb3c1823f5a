/** Whether policy wants more now than it did when a check was approved. Pure. */
import { APPROVER_ROLES } from '../values/policy-document.ts';
import type { PolicyDecision } from '../policy/decide-policy.ts';
import type { ApprovalTerms } from './approval-events.ts';

/** True for a deny, and for any one thing more: approvers, a higher role, four eyes. */
export function isStricter({ decision, terms }: PolicyDecision, approved: ApprovalTerms): boolean {
  if (decision !== 'require' || terms === null) return decision === 'deny';
  const rankOf = (role: ApprovalTerms['approver_role']): number => APPROVER_ROLES.indexOf(role);
  return (
    terms.quorum > approved.quorum ||
    rankOf(terms.approver_role) > rankOf(approved.approver_role) ||
    (terms.exclude_owner && !approved.exclude_owner)
  );
}
