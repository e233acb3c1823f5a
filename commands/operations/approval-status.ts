/** Where an approval stands at a time (`contract.md` 10). Pure: expiry holds on access, whether it was written down or not. */
import type { ApprovalState } from './approval-state.ts';

export const APPROVAL_STATUSES = [
  'awaiting_approval',
  'pending_commit',
  'committing',
  'committed',
  'commit_failed',
  'commit_unknown',
  'rejected',
  'cancelled',
  'expired',
  'superseded',
  'invalidated',
] as const;
export type ApprovalStatus = (typeof APPROVAL_STATUSES)[number];

/** `hasUnknown`: outcomes are recorded and one of them is unknown. */
export function approvalStatus(
  state: Pick<ApprovalState, 'end' | 'committing' | 'granted' | 'expiresAt'>,
  { now, hasUnknown }: { readonly now: Date; readonly hasUnknown: boolean },
): ApprovalStatus {
  if (state.end !== null) return state.end;
  if (state.committing) return hasUnknown ? 'commit_unknown' : 'committing';
  if (isOver(state, now)) return 'expired';
  return state.granted === null ? 'awaiting_approval' : 'pending_commit';
}

/** True when its time has passed: an approval that waits for a decision, or a granted one that nobody committed. */
export const isOver = (state: Pick<ApprovalState, 'expiresAt'>, now: Date): boolean =>
  Date.parse(state.expiresAt) <= now.getTime();

/** Nothing of it ran, and it can still be committed or ended. */
export const isOpen = (status: ApprovalStatus): boolean =>
  status === 'awaiting_approval' || status === 'pending_commit';

export const UNRUN_STATUSES = ['rejected', 'cancelled', 'expired', 'superseded', 'invalidated'] as const;
export type UnrunStatus = (typeof UNRUN_STATUSES)[number];

const UNRUN: ReadonlySet<string> = new Set(UNRUN_STATUSES);

/** It ended before anything of it ran. */
export const isUnrun = (status: ApprovalStatus): status is UnrunStatus => UNRUN.has(status);
