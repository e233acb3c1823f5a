/** A signing secret, which is shown once. */
import { copyField } from './copy-field.js';
import { h } from './dom.js';

/** @import { ShownSecret } from './payloads.d.ts' */

/**
 * @param {ShownSecret} shown
 * @param {string} title
 */
export function secretPanel({ secret }, title) {
  return h(
    'section',
    { class: 'card secret', 'aria-labelledby': 'secret' },
    h('h2', { id: 'secret', tabindex: -1 }, title),
    secret === undefined ? wasShown() : [forWhat(), copyField(secret, 'Signing secret'), onlyNow()],
  );
}

const forWhat = () =>
  h(
    'p',
    null,
    'Your server checks the signature of each request with this secret, and so knows that it comes from this gateway. ',
    'Any library for Standard Webhooks can do it.',
  );

const onlyNow = () =>
  h('p', { class: 'quiet small' }, 'It is shown only now. Store it where your server reads its secrets.');

const wasShown = () =>
  h('p', null, 'The secret was shown before and cannot be shown again. Rotate it to get a new one.');
