/** The ends of an approval before anything of it ran (`contract.md` 10). Pure. */
import type { Sealed } from '../values/sealed.ts';
import type { PolicyDecision } from '../policy/decide-policy.ts';
import type { OperationFact, OperationState } from './operation.ts';
import type { Invalidation } from './approval-events.ts';
import { isOpen } from './approval-state.ts';
import { refusedIn } from './refuse-status.ts';
import { approvalStatusOf } from './approval-reply.ts';

/** Nothing if it was withdrawn already. Throws what its status refuses: from the commit on it is too late. */
export function decideCancel(
  state: OperationState,
  { reason, now }: { readonly reason: Sealed | null; readonly now: Date },
): readonly OperationFact[] {
  const status = approvalStatusOf(state, now);
  if (status === null) throw new Error('an operation without an approval cannot be withdrawn');
  if (status === 'cancelled') return [];
  if (!isOpen(status)) throw refusedIn(status);
  return [{ type: 'ApprovalCancelled', data: { reason } }];
}

/** Records an expiry by the clock; nothing for an approval that has not expired or has ended. */
export function decideExpiry(state: OperationState, now: Date): readonly OperationFact[] {
  const { approval } = state;
  if (approval === null || approval.phase === 'ended') return [];
  if (approvalStatusOf(state, now) !== 'expired') return [];
  return [{ type: 'ApprovalExpired', data: { expired_at: approval.expiresAt } }];
}

/** Ends an open approval whose ground is gone. `policy`: the present decision, where that is the reason. */
export function decideInvalidation(
  state: OperationState,
  {
    reason,
    policy,
    now,
  }: { readonly reason: Invalidation; readonly policy?: PolicyDecision; readonly now: Date },
): readonly OperationFact[] {
  const status = approvalStatusOf(state, now);
  if (!isOpen(status)) return [];
  return [{ type: 'ApprovalInvalidated', data: { reason, policy: policy ? policyNow(policy) : null } }];
}

const policyNow = ({ decision, ruleId, version }: PolicyDecision) => ({
  decision,
  rule_id: ruleId,
  policy_version: version,
});
