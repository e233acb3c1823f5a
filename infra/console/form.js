/** A form: its fields, its problem and its button. */
import { h } from './dom.js';
import { errorNotice } from './error-notice.js';
import { selectPassword } from './fields.js';

/** @typedef {import('./payloads.d.ts').Child} Child */

/**
 * @typedef {object} FormOptions
 * @property {string} button label of the button that sends it
 * @property {string} [tone] class of that button
 * @property {Child} [beside] what stands beside the button
 * @property {Readonly<Record<string, string>>} [next] advice per error code
 * @property {(values: FormData) => Promise<void>} act when it throws, the form stays and shows the error
 */

/**
 * @param {readonly Child[]} fields
 * @param {FormOptions} options
 */
export function formOf(fields, { button, tone = 'primary', beside = null, next = {}, act }) {
  const submit = h('button', { type: 'submit', class: tone }, button);
  const problem = h('div', { 'aria-live': 'assertive' });
  const buttons = beside === null ? submit : h('div', { class: 'buttons' }, beside, submit);
  const element = h('form', null, fields, problem, buttons);
  const run = async () => {
    submit.disabled = true;
    problem.replaceChildren();
    try {
      await act(new FormData(element));
    } catch (error) {
      problem.replaceChildren(errorNotice(error, { role: null, next }));
      selectPassword(element);
    } finally {
      submit.disabled = false;
    }
  };
  element.addEventListener('submit', (event) => {
    event.preventDefault();
    if (!submit.disabled) void run();
  });
  return element;
}
