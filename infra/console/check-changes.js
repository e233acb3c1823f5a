/** What is other than in the version somebody was asked about before. */
import { h } from './dom.js';
import { foreignLines } from './foreign-text.js';

/** @import { Change, Preview } from './payloads.d.ts' */

/** @param {NonNullable<Preview['previous']>} previous */
export function changesSection({ content_hash: hash, changes }) {
  return h(
    'section',
    { class: 'card', 'aria-labelledby': 'changes' },
    h('h2', { id: 'changes', tabindex: -1 }, 'Changed since the last version'),
    h('p', { class: 'quiet small' }, 'The last one was ', h('code', null, hash.slice(0, 12)), '.'),
    changes.length === 0
      ? h('p', null, 'Nothing that a reader would see.')
      : h('dl', { class: 'changes' }, changes.map(changeOf)),
  );
}

/** @param {Change} change */
const changeOf = ({ field, before, after }) => [
  h('dt', null, field.replaceAll('_', ' ')),
  h('dd', null, side('Before', 'del', before), side('Now', 'ins', after)),
];

/**
 * @param {string} label
 * @param {'del' | 'ins'} tag
 * @param {unknown} value
 */
const side = (label, tag, value) =>
  h(
    'div',
    { class: `side ${tag}` },
    h('span', { class: 'side-label' }, label),
    isNothing(value) ? h('span', { class: 'quiet' }, 'nothing') : h(tag, null, foreignLines(textOf(value))),
  );

/** @param {unknown} value */
const isNothing = (value) =>
  value === null || value === undefined || value === '' || (Array.isArray(value) && value.length === 0);

/** @param {unknown} value */
const textOf = (value) => (typeof value === 'string' ? value : JSON.stringify(value, null, 2));
