/**
 * How an approval is decided and committed: the terms of the rule, and those of the mode where the rule has
 * none. Pure.
 */
import { type RequireEffect, PolicyEffect } from '../values/policy-document.ts';
import type { PolicyDecision } from './decide-policy.ts';

/** The modes of `contract.md` 6 that may request an approval. */
export type ApprovalMode = 'execute_or_request_approval' | 'request_approval' | 'prepare';

/** The complete terms of one approval. Times in seconds. */
interface ApprovalTerms {
  /** 0 = no vote is required. */
  readonly quorum: number;
  readonly approver_role: RequireEffect['approver_role'];
  readonly exclude_owner: boolean;
  readonly decision_ttl: number;
  readonly commit_ttl: number;
  readonly auto_commit: boolean;
  readonly undo_seconds: number;
}

/** One approver, 24 hours to decide and one hour to commit: the default require of `contract.md` 8. */
export const defaultTerms = (): RequireEffect => PolicyEffect.parse({ decision: 'require' }) as RequireEffect;

/**
 * The terms of an approval requested in this mode: those of the rule, else the defaults. Where policy allows,
 * `request_approval` still requires votes, and the other modes require none. An expunge in the default mode
 * acts as `prepare`: pass that mode. Throws for a decision that denies, which has no approval.
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
