/** Labelled fields of the forms. */
import { h } from './dom.js';

/** @typedef {import('./dom.js').Attributes} Attributes */

/**
 * @param {string} name
 * @param {string} label
 * @param {Attributes} [attributes] of the input
 * @param {string} [hint]
 */
export function field(name, label, attributes = {}, hint) {
  const id = `field-${name}`;
  const hintId = `${id}-hint`;
  return h(
    'div',
    { class: 'field' },
    h('label', { for: id }, label),
    h('input', {
      id,
      name,
      required: true,
      'aria-describedby': hint === undefined ? null : hintId,
      ...attributes,
    }),
    hint === undefined ? null : h('p', { id: hintId, class: 'quiet small' }, hint),
  );
}

/**
 * @param {string} name
 * @param {string} label
 * @param {Attributes} attributes
 * @param {string} [hint]
 */
export const passwordField = (name, label, attributes, hint) =>
  field(name, label, { type: 'password', maxlength: 1024, ...attributes }, hint);

/** `contract.md` 18. */
const LEAST_CHARS = 15;

/**
 * @param {string} name
 * @param {string} label
 */
export const newPasswordField = (name, label) =>
  passwordField(
    name,
    label,
    { autocomplete: 'new-password', minlength: LEAST_CHARS },
    `At least ${String(LEAST_CHARS)} characters; a few words are easier to remember than signs.`,
  );

/**
 * What stands in a field of text.
 * @param {FormData} form
 * @param {string} name
 */
export function textIn(form, name) {
  const value = form.get(name);
  return typeof value === 'string' ? value : '';
}

/**
 * @param {string} name
 * @param {string} label
 * @param {Attributes} attributes
 * @param {string} [hint]
 */
export function textArea(name, label, attributes, hint) {
  const id = `field-${name}`;
  const hintId = `${id}-hint`;
  return h(
    'div',
    { class: 'field' },
    h('label', { for: id }, label),
    h('textarea', {
      id,
      name,
      rows: 3,
      dir: 'auto',
      'aria-describedby': hint === undefined ? null : hintId,
      ...attributes,
    }),
    hint === undefined ? null : h('p', { id: hintId, class: 'quiet small' }, hint),
  );
}
