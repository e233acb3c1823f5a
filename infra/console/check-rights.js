/** What a person may do about a check as far as this page can tell; the gateway has the last word. */

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
 * @param {Approval} approval
 * @param {Names} names
 */
export const mayDecide = ({ status, votes }, names) =>
  status === 'awaiting_approval' && names.mayDecide && !votes.some(({ by }) => names.isMe(by));

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
function isOwnOr(scope, { requester, mailbox_id: mailboxId }, names) {
  const { id, on_behalf_of: behind } = requester;
  return names.isMe(id) || (behind !== undefined && names.isMe(behind)) || names.holds(scope, mailboxId);
}
