/** Text to be copied: a secret in one line, or settings of several lines. */
import { h } from './dom.js';

/**
 * @param {string} text
 * @param {string} label
 */
export function copyField(text, label) {
  const input = h('input', {
    class: 'code',
    readonly: true,
    value: text,
    'aria-label': label,
    spellcheck: 'false',
    autocomplete: 'off',
  });
  const select = () => {
    input.select();
  };
  const { button, done } = copyButton(text, label, select);
  return h('div', null, h('div', { class: 'with-button' }, input, button), done);
}

/**
 * @param {string} text
 * @param {string} label
 */
export function copyBlock(text, label) {
  const lines = h('pre', { class: 'lines code', tabindex: 0, role: 'group', 'aria-label': label }, text);
  const select = () => {
    getSelection()?.selectAllChildren(lines);
  };
  const { button, done } = copyButton(text, label, select);
  return h('div', { class: 'copy-block' }, lines, h('div', { class: 'row' }, button, done));
}

/**
 * @param {string} text
 * @param {string} label
 * @param {() => void} select
 */
function copyButton(text, label, select) {
  const done = h('span', { class: 'quiet small', role: 'status' });
  const copy = async () => {
    select();
    done.textContent = (await isCopied(text)) ? 'Copied.' : 'Selected. Press Ctrl+C to copy it.';
  };
  const button = h(
    'button',
    { type: 'button', class: 'plain', 'aria-label': `Copy ${label}`, on: { click: () => void copy() } },
    'Copy',
  );
  return { button, done };
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
