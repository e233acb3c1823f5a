/** Why an approval is asked for. */
import { h } from './dom.js';
import { foreign, foreignLines } from './foreign-text.js';

/** @import { Approval } from './payloads.d.ts' */

/**
 * @param {Approval} approval
 * @param {import('./names.js').Names} names
 */
export const reasonSection = ({ reason, mailbox_id: mailboxId }, names) =>
  h(
    'section',
    { class: 'card', 'aria-labelledby': 'why' },
    h('h2', { id: 'why', tabindex: -1 }, 'Why'),
    reason === null || reason === ''
      ? h('p', { class: 'quiet' }, 'No reason was given.')
      : h('blockquote', { class: 'reason' }, foreignLines(reason)),
    h('p', { class: 'quiet small' }, 'In the mailbox ', foreign(names.nameOf(mailboxId))),
  );
