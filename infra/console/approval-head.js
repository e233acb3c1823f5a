/** What an approval is about in a line, how it stands, and who asks. */
import { h } from './dom.js';
import { foreign } from './foreign-text.js';
import { pastTime } from './times.js';
import { summaryOf } from './approval-summary.js';
import { badge, whatHappens } from './wording.js';

/** @import { Approval } from './payloads.d.ts' */

/**
 * @param {Approval} approval
 * @param {import('./names.js').Names} names
 */
export function headingOf(approval, names) {
  const { requester, created_at: createdAt, status } = approval;
  const behind = requester.on_behalf_of;
  return [
    h('h1', { tabindex: -1 }, foreign(whatHappens(approval))),
    summaryOf(approval),
    h(
      'p',
      { class: 'approval-meta' },
      badge(status),
      h(
        'span',
        { class: 'quiet' },
        'requested by ',
        foreign(names.nameOf(requester.id)),
        behind === undefined || behind === requester.id
          ? ''
          : [' on behalf of ', foreign(names.nameOf(behind))],
        requester.kind === 'delegated' ? ' by a token' : '',
        ', ',
        pastTime(createdAt),
      ),
    ),
  ];
}
