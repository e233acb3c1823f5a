/** What a person may do about an approval, as far as this page knows; the gateway decides. */

/** @import { Approval } from './payloads.d.ts' */
/** @typedef {import('./names.js').Names} Names */

/** @param {Pick<Approval, 'status'>} approval */
export const isOpen = ({ status }) => status === 'awaiting_approval' || status === 'pending_commit';

const GOING_ON = ['awaiting_approval', 'pending_commit', 'committing', 'commit_unknown'];

/**
 * Whether anything can still change.
 * @param {Pick<Approval, 'status'>} approval
 */
export const isOver = ({ status }) => !GOING_ON.includes(status);

/**
 * Whether this person, or an agent of theirs, requested it.
 * @param {Pick<Approval, 'own_request'>} approval
 */
export const isOwnRequest = ({ own_request: isOwn }) => isOwn === true;

/**
 * Why this person cannot decide it; null when they can.
 * @param {Approval} approval
 * @param {Names} names
 */
export function whyNotDecide(approval, names) {
  const { quorum, votes } = approval;
  if (votes.some(({ by }) => names.isMe(by))) return 'You have voted.';
  if (!names.hasRole(quorum.approver_role)) return 'Your role cannot decide this.';
  return quorum.exclude_owner && isOwnRequest(approval) ? 'Someone else has to decide.' : null;
}

/**
 * @param {Approval} approval
 * @param {Names} names
 */
export const mayDecide = (approval, names) =>
  approval.status === 'awaiting_approval' && whyNotDecide(approval, names) === null;

/**
 * @param {Approval} approval
 * @param {Names} names
 */
export const mayRun = (approval, names) =>
  approval.status === 'pending_commit' && isOwnOr('approvals:commit', approval, names);

/**
 * @param {Approval} approval
 * @param {Names} names
 */
export const mayWithdraw = (approval, names) =>
  isOpen(approval) && isOwnOr('approvals:cancel', approval, names);

/**
 * @param {string} scope
 * @param {Approval} approval
 * @param {Names} names
 */
function isOwnOr(scope, approval, names) {
  return isOwnRequest(approval) || names.holds(scope, approval.mailbox_id);
}
