/** One approval in the list: what it is about, the requester, its status. */
import { isOpen } from './approval-rights.js';
import { h } from './dom.js';
import { foreign } from './foreign-text.js';
import { countdown, pastTime } from './times.js';
import { summaryOf } from './approval-summary.js';
import { badge, whatHappens } from './wording.js';

/** @import { Approval } from './payloads.d.ts' */

/**
 * @param {Approval} approval
 * @param {import('./names.js').Names} names
 */
export const rowOf = (approval, names) =>
  h(
    'li',
    { class: 'entry' },
    h(
      'div',
      { class: 'entry-what' },
      h('a', { href: `#/approvals/${approval.id}`, 'data-id': approval.id }, foreign(whatHappens(approval))),
      summaryOf(approval),
      h(
        'p',
        { class: 'quiet small' },
        foreign(names.nameOf(approval.requester.id)),
        ' · ',
        foreign(names.nameOf(approval.mailbox_id)),
        ' · ',
        pastTime(approval.created_at),
      ),
    ),
    h('div', { class: 'entry-state' }, badge(approval.status), isOpen(approval) ? waiting(approval) : null),
  );

/** @param {Approval} approval */
const waiting = ({ quorum: { required, approved }, expires_at: expiresAt }) =>
  h(
    'p',
    { class: 'quiet small' },
    required > 1 ? `${String(approved)} of ${String(required)} · ` : '',
    countdown(expiresAt),
    ' left',
  );
