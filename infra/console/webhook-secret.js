/** A signing secret, which is shown once. */
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
    secret === undefined ? wasShown() : [forWhat(), copyField(secret), onlyNow()],
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

/** @param {string} secret */
function copyField(secret) {
  const input = h('input', {
    class: 'code',
    id: 'secret-value',
    readonly: true,
    value: secret,
    'aria-label': 'Signing secret',
    spellcheck: 'false',
    autocomplete: 'off',
  });
  const done = h('span', { class: 'quiet small', role: 'status' });
  const copy = async () => {
    input.select();
    done.textContent = (await isCopied(secret)) ? 'Copied.' : 'Selected. Press Ctrl+C to copy it.';
  };
  const button = h('button', { type: 'button', class: 'plain', on: { click: () => void copy() } }, 'Copy');
  return h('div', null, h('div', { class: 'with-button' }, input, button), done);
}

/**
 * Whether it is in the clipboard; not where the browser keeps that from pages without TLS, or the person refuses.
 * @param {string} text
 */
async function isCopied(text) {
  if (!isSecureContext) return false;
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch (error) {
    if (error instanceof DOMException) return false;
    throw error;
  }
}
