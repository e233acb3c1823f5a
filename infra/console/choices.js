/** Choices among a few: radio buttons, and groups of checkboxes with one for all of them. */
import { h } from './dom.js';

/** @typedef {import('./payloads.d.ts').Child} Child */

/**
 * @typedef {object} Choice
 * @property {string} value
 * @property {Child} label
 * @property {string} [about]
 * @property {Child} [content] shown while it is chosen
 */

/**
 * One of several, with what belongs to the chosen one below it.
 * @param {string} name
 * @param {string} legend
 * @param {readonly Choice[]} choices
 * @param {string} chosen
 */
export function radios(name, legend, choices, chosen) {
  const parts = choices.map(({ value, label, about, content }) => {
    const input = h('input', { type: 'radio', name, value, required: true, checked: value === chosen });
    const inside = content === undefined ? null : h('div', { class: 'inside' }, content);
    return { input, inside, row: [tick(input, label, about), inside] };
  });
  const show = () => {
    for (const { input, inside } of parts) if (inside !== null) inside.hidden = !input.checked;
  };
  for (const { input } of parts) input.addEventListener('change', show);
  show();
  return h(
    'fieldset',
    { class: 'choices' },
    h('legend', null, legend),
    parts.map(({ row }) => row),
  );
}

/**
 * Checkboxes under a heading that checks all of them.
 * @param {string} name
 * @param {string} legend
 * @param {readonly Choice[]} choices
 * @param {ReadonlySet<string>} chosen
 */
export function checkGroup(name, legend, choices, chosen) {
  const inputs = choices.map(({ value }) =>
    h('input', { type: 'checkbox', name, value, checked: chosen.has(value) }),
  );
  const all = h('input', { type: 'checkbox', 'aria-label': `${legend}: all` });
  const compare = () => {
    const checked = inputs.filter((input) => input.checked).length;
    all.checked = checked === inputs.length;
    all.indeterminate = checked > 0 && checked < inputs.length;
  };
  all.addEventListener('change', () => {
    for (const input of inputs) input.checked = all.checked;
  });
  for (const input of inputs) input.addEventListener('change', compare);
  compare();
  return h(
    'fieldset',
    { class: 'checks' },
    h('legend', null, h('label', { class: 'tick' }, all, h('span', null, legend))),
    choices.map(({ label, about }, index) =>
      tick(/** @type {HTMLInputElement} */ (inputs[index]), label, about),
    ),
  );
}

/**
 * @param {HTMLInputElement} input
 * @param {Child} label
 * @param {string} [about]
 */
const tick = (input, label, about) =>
  h(
    'label',
    { class: 'tick' },
    input,
    h('span', null, label, about === undefined ? null : h('span', { class: 'quiet small about' }, about)),
  );

/**
 * The values that are checked.
 * @param {FormData} form
 * @param {string} name
 */
export const checkedIn = (form, name) => form.getAll(name).filter((value) => typeof value === 'string');
