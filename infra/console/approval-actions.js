/** Approve, reject, run and withdraw: each asks first, states the consequence, and names the content by its hash. */
import { newKey } from './api.js';
import { ask } from './dialog.js';
import { h } from './dom.js';
import { textArea, textIn } from './fields.js';
import { cancelApproval, commitApproval, decideApproval } from './routes.js';
import { foreign } from './foreign-text.js';
import { spanText } from './times.js';
import { summaryOf } from './approval-summary.js';
import { secondLook, warningList } from './approval-warnings.js';
import { deletion, isDestructive, whatHappens } from './wording.js';

/** @import { Approval, Warning } from './payloads.d.ts' */

const MOST_REASON_CHARS = 1_000;

/** @typedef {{ hash: string, warnings: readonly Warning[] }} Shown what the page shows, and the hash of its content */

/**
 * What it is about, with all recipients and warnings.
 * @param {Approval} approval
 * @param {Shown} shown
 */
const subjectOf = (approval, { warnings }) => [
  h('p', { class: 'dialog-what' }, foreign(whatHappens(approval))),
  summaryOf(approval, { isWhole: true }),
  warningList(warnings),
];

/** @param {Shown} shown */
const hashOf = ({ hash }) =>
  h('p', { class: 'quiet small' }, 'Content as shown: ', h('code', { class: 'whole-hash' }, hash));

/**
 * @param {Approval} approval
 * @param {Shown} shown
 * @param {import('./names.js').Names} names
 */
export function approve(approval, shown, names) {
  const key = newKey();
  return ask({
    title: 'Approve this?',
    content: [
      subjectOf(approval, shown),
      h('p', null, consequenceOf(approval, names)),
      textArea('reason', 'Note', { maxlength: MOST_REASON_CHARS }, 'Optional. Kept with your vote.'),
      secondLook(shown.warnings),
      hashOf(shown),
    ],
    confirm: deletion(approval) ?? 'Approve',
    tone: isDestructive(approval) ? 'danger' : 'primary',
    act: (form) =>
      decideApproval(approval.id, { decision: 'approve', content_hash: shown.hash, ...reasonIn(form) }, key),
  });
}

/**
 * The consequence of one more approval.
 * @param {Approval} approval
 * @param {import('./names.js').Names} names
 */
function consequenceOf({ quorum: { required, approved }, run_by: runBy }, names) {
  const missing = required - approved - 1;
  if (missing > 0)
    return `After yours, ${missing === 1 ? 'one more is' : `${String(missing)} more are`} needed.`;
  if (runBy === undefined)
    return 'Yours is the last approval needed. The gateway then runs exactly this, nothing else.';
  const runner = names.isMe(runBy.id) ? 'you have' : [foreign(names.nameOf(runBy.id)), ' has'];
  return [
    'After your approval ',
    runner,
    ` ${spanText(runBy.within_seconds)} to run exactly this, nothing else.`,
  ];
}

/**
 * @param {Approval} approval
 * @param {Shown} shown
 */
export function reject(approval, shown) {
  const key = newKey();
  return ask({
    title: 'Reject this?',
    content: [
      subjectOf(approval, shown),
      h('p', null, 'One rejection ends it. Nothing runs.'),
      textArea(
        'reason',
        'Reason',
        { required: true, maxlength: MOST_REASON_CHARS, autofocus: true },
        'The requester reads it.',
      ),
      hashOf(shown),
    ],
    confirm: 'Reject',
    tone: 'danger',
    act: (form) =>
      decideApproval(approval.id, { decision: 'reject', content_hash: shown.hash, ...reasonIn(form) }, key),
  });
}

/**
 * @param {Approval} approval
 * @param {Shown} shown
 */
export function run(approval, shown) {
  const key = newKey();
  return ask({
    title: 'Run it now?',
    content: [
      subjectOf(approval, shown),
      h('p', null, 'Everything is validated again, then exactly this runs.'),
      secondLook(shown.warnings),
      hashOf(shown),
    ],
    confirm: deletion(approval) ?? 'Run it',
    tone: isDestructive(approval) ? 'danger' : 'primary',
    act: () => commitApproval(approval.id, { content_hash: shown.hash }, key),
  });
}

/** @param {Approval} approval */
export function withdraw(approval) {
  const key = newKey();
  return ask({
    title: 'Withdraw this?',
    content: [
      h('p', { class: 'dialog-what' }, foreign(whatHappens(approval))),
      h('p', null, 'Nothing runs, and it can no longer be approved.'),
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
