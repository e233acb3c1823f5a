/** How a check is to be approved and run: the rule's own words, and what the mode says where the rule is silent. Pure. */
import { type RequireEffect, PolicyEffect } from '../values/policy-document.ts';
import type { PolicyDecision } from './decide-policy.ts';

/** The modes of `contract.md` 6 that may end in a check. */
export type ApprovalMode = 'execute_or_request_approval' | 'request_approval' | 'prepare';

/** The terms of one check, nothing left open. Times in seconds. */
export interface ApprovalTerms {
  /** 0 = nobody has to approve. */
  readonly quorum: number;
  readonly approver_role: RequireEffect['approver_role'];
  readonly exclude_owner: boolean;
  readonly decision_ttl: number;
  readonly commit_ttl: number;
  readonly auto_commit: boolean;
  readonly undo_seconds: number;
}

/** One approver, 24 hours to decide and one to commit: the default require of `contract.md` 8. */
export const defaultTerms = (): RequireEffect => PolicyEffect.parse({ decision: 'require' }) as RequireEffect;

/**
 * The terms of a check made in this mode: those of the rule, else the default ones. Where policy allows, somebody who
 * asks for approval gets one approver all the same, and what is only prepared has no approval's. An expunge in the
 * default mode acts as `prepare`: pass that. Throws for a decision that denies: it makes no check.
 */
export function termsFor(
  mode: ApprovalMode,
  { decision, terms, undoSeconds }: PolicyDecision,
): ApprovalTerms {
  if (decision === 'deny') throw new Error('what policy denies has no terms');
  const { quorum, approver_role, exclude_owner, decision_ttl, commit_ttl, auto_commit } =
    terms ?? defaultTerms();
  const isFree = decision === 'allow' && mode !== 'request_approval';
  return {
    quorum: isFree ? 0 : quorum,
    approver_role,
    exclude_owner,
    decision_ttl,
    commit_ttl,
    auto_commit: auto_commit ?? mode === 'execute_or_request_approval',
    undo_seconds: undoSeconds,
  };
}
