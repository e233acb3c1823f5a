/** An approval in plain words: what would happen, and its status. */
import { badgeOf, CHECK, CLOCK, CROSS, DASH, DOT, QUESTION } from './badges.js';

/** @import { Approval, ApprovalStatus } from './payloads.d.ts' */

/** @type {Readonly<Record<ApprovalStatus, import('./badges.js').StatusWords>>} */
export const STATUSES = {
  awaiting_approval: { label: 'Waiting for approval', tone: 'ask', path: DOT, about: 'Nothing has run.' },
  pending_commit: { label: 'Approved, not run yet', tone: 'go', path: CLOCK, about: 'Nothing has run yet.' },
  committing: { label: 'Running', tone: 'go', path: CLOCK, about: 'It is running now.' },
  committed: {
    label: 'Done',
    tone: 'good',
    path: CHECK,
    about: 'Exactly what was approved was done.',
  },
  commit_failed: { label: 'Failed', tone: 'bad', path: CROSS, about: 'It was tried and failed permanently.' },
  commit_unknown: {
    label: 'Outcome unknown',
    tone: 'ask',
    path: QUESTION,
    about: 'It was started, and its outcome is not known yet. The gateway finds out and never repeats it.',
  },
  rejected: { label: 'Rejected', tone: 'bad', path: CROSS, about: 'Nothing was run.' },
  cancelled: { label: 'Withdrawn', tone: 'over', path: DASH, about: 'Nothing was run.' },
  expired: {
    label: 'Expired',
    tone: 'over',
    path: DASH,
    about: 'The time to decide ran out. Nothing was run.',
  },
  superseded: {
    label: 'Replaced by an edit',
    tone: 'over',
    path: DASH,
    about: 'The draft was edited. Nothing was run; the new text needs its own approval.',
  },
  invalidated: {
    label: 'No longer valid',
    tone: 'over',
    path: DASH,
    about: 'Something it depended on has changed. Nothing was run.',
  },
};

/** @param {ApprovalStatus} status */
export const badge = (status) => badgeOf(STATUSES[status]);

/**
 * What would happen, in one sentence without a full stop. Text by others is in it with invisible characters marked.
 * @param {Pick<Approval, 'confirmation'>} approval
 */
export const whatHappens = ({ confirmation }) =>
  confirmation === null ? 'Something that was erased with its mailbox' : confirmation.what;

/**
 * Whether it deletes messages permanently.
 * @param {Pick<Approval, 'confirmation'>} approval
 */
export const isDestructive = ({ confirmation }) => confirmation?.destructive === true;

/**
 * The label of a button that deletes permanently; null for everything else.
 * @param {Pick<Approval, 'confirmation' | 'manifest'>} approval
 */
export function deletion({ confirmation, manifest }) {
  if (!isDestructive({ confirmation }) || manifest?.kind !== 'message_actions') return null;
  return `Delete ${counted(manifest.items.length, 'message')} permanently`;
}

/**
 * @param {number} count
 * @param {string} one
 * @param {string} [several]
 */
export const counted = (count, one, several = `${one}s`) => `${String(count)} ${count === 1 ? one : several}`;
