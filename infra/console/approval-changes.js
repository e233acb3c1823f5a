/** The differences from the previous approval request for the same draft. */
import { h } from './dom.js';
import { foreignLines } from './foreign-text.js';

/** @import { Change, Preview } from './payloads.d.ts' */

/** @type {Readonly<Record<Change['what'], string>>} */
const LABELS = {
  sender: 'Sender',
  recipients: 'Recipients',
  reply_to: 'Answers go to',
  subject: 'Subject',
  headers: 'Headers',
  attachments: 'Attachments',
  body: 'Text',
};

/** @param {NonNullable<Preview['previous']>} previous */
export function changesSection({ content_hash: hash, changes }) {
  return h(
    'section',
    { class: 'card', 'aria-labelledby': 'changes' },
    h('h2', { id: 'changes', tabindex: -1 }, 'Changed since the previous request'),
    h('p', { class: 'quiet small' }, 'Its content was ', h('code', { title: hash }, hash.slice(0, 12)), '.'),
    changes.length === 0 ? h('p', null, 'Nothing.') : h('dl', { class: 'changes' }, changes.map(changeOf)),
  );
}

/** @param {Change} change */
const changeOf = ({ what, before, after, lines, more_lines: more }) => [
  h('dt', null, LABELS[what]),
  h(
    'dd',
    null,
    lines === undefined
      ? [side('Before', 'del', before), side('Now', 'ins', after)]
      : lines.map(({ change, text }) =>
          change === 'removed' ? side('Before', 'del', text) : side('Now', 'ins', text),
        ),
    more === undefined ? null : h('p', { class: 'more quiet small' }, `${String(more)} more lines differ.`),
  ),
];

/**
 * @param {string} label
 * @param {'del' | 'ins'} tag
 * @param {string | null} value
 */
const side = (label, tag, value) =>
  h(
    'div',
    { class: `side ${tag}` },
    h('span', { class: 'side-label' }, label),
    value === null || value === ''
      ? h('span', { class: 'quiet' }, 'nothing')
      : h(tag, null, foreignLines(value)),
  );
