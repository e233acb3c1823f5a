/** What a person does with a check: each asks first, says what follows from it, and names the content it is about. */
import { newKey } from './api.js';
import { ask } from './dialog.js';
import { h } from './dom.js';
import { textArea, textIn } from './fields.js';
import { cancelApproval, commitApproval, decideApproval } from './routes.js';
import { rich, whatHappens } from './wording.js';

/** @import { Approval } from './payloads.d.ts' */

const MOST_REASON_CHARS = 1_000;

/**
 * @param {Approval} approval
 * @param {string} hash
 */
const subjectOf = (approval, hash) => [
  h('p', { class: 'dialog-what' }, rich(whatHappens(approval))),
  h('p', { class: 'quiet small' }, 'Content as shown: ', h('code', { class: 'whole-hash' }, hash)),
];

/**
 * @param {Approval} approval
 * @param {string} hash of the content that was shown
 */
export function approve(approval, hash) {
  const key = newKey();
  const { required, approved } = approval.quorum;
  const isLast = approved + 1 >= required;
  return ask({
    title: 'Approve this?',
    content: [
      subjectOf(approval, hash),
      h(
        'p',
        null,
        isLast
          ? 'Yours is the last approval needed: exactly this may run, nothing else.'
          : `After yours, ${String(required - approved - 1)} more needed before it may run.`,
      ),
      textArea('reason', 'Note', { maxlength: MOST_REASON_CHARS }, 'Optional. Kept with your vote.'),
    ],
    confirm: 'Approve',
    act: (form) =>
      decideApproval(approval.id, { decision: 'approve', content_hash: hash, ...reasonIn(form) }, key),
  });
}

/**
 * @param {Approval} approval
 * @param {string} hash of the content that was shown
 */
export function reject(approval, hash) {
  const key = newKey();
  return ask({
    title: 'Reject this?',
    content: [
      subjectOf(approval, hash),
      h('p', null, 'One rejection ends it. Nothing runs.'),
      textArea(
        'reason',
        'Reason',
        { required: true, maxlength: MOST_REASON_CHARS, autofocus: true },
        'Whoever asked reads it.',
      ),
    ],
    confirm: 'Reject',
    tone: 'danger',
    act: (form) =>
      decideApproval(approval.id, { decision: 'reject', content_hash: hash, ...reasonIn(form) }, key),
  });
}

/**
 * @param {Approval} approval
 * @param {string} hash of the content that was shown
 */
export function run(approval, hash) {
  const key = newKey();
  return ask({
    title: 'Run it now?',
    content: [
      subjectOf(approval, hash),
      h('p', null, 'Everything is checked once more, then exactly this is carried out.'),
    ],
    confirm: 'Run it',
    act: () => commitApproval(approval.id, { content_hash: hash }, key),
  });
}

/** @param {Approval} approval */
export function withdraw(approval) {
  const key = newKey();
  return ask({
    title: 'Withdraw this?',
    content: [
      h('p', { class: 'dialog-what' }, rich(whatHappens(approval))),
      h('p', null, 'Nothing runs, and nobody can approve it any more.'),
      textArea('reason', 'Note', { maxlength: MOST_REASON_CHARS }, 'Optional.'),
    ],
    confirm: 'Withdraw',
    tone: 'danger',
    act: (form) => cancelApproval(approval.id, reasonIn(form), key),
  });
}

/** @param {FormData} form */
function reasonIn(form) {
  const reason = textIn(form, 'reason').trim();
  return reason === '' ? {} : { reason };
}
