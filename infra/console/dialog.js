/** A modal question. The browser's own dialog keeps the focus inside and gives it back; Escape is its "no". */
import { h } from './dom.js';
import { errorNotice } from './error-notice.js';
import { selectPassword } from './fields.js';

/**
 * @typedef {object} Question
 * @property {string} title
 * @property {readonly import('./child.d.ts').Child[]} content fields and words between the title and the buttons
 * @property {string} confirm label of the button that says yes
 * @property {'primary' | 'danger'} [tone]
 * @property {Readonly<Record<string, string>>} [next] what to do about a refusal, by its code
 * @property {(form: FormData) => Promise<unknown>} act what happens on yes; while it throws the dialog stays, with its reason
 */

let count = 0;

/** What was asked about is not in view any more: the answer is no. */
export function closeDialogs() {
  for (const dialog of document.querySelectorAll('dialog')) dialog.close();
}

/**
 * Asks, and resolves with true once `act` is done, with false when the person would rather not.
 * @param {Question} question
 * @returns {Promise<boolean>}
 */
export function ask({ title, content, confirm, tone = 'primary', next = {}, act }) {
  const titleId = `dialog-${String((count += 1))}`;
  const problem = h('div', { 'aria-live': 'assertive' });
  const yes = h('button', { type: 'submit', class: tone }, confirm);
  const no = h('button', { type: 'button', class: 'plain' }, 'Cancel');
  const form = h(
    'form',
    { method: 'dialog' },
    h('h2', { id: titleId }, title),
    content,
    problem,
    h('div', { class: 'buttons' }, no, yes),
  );
  const dialog = h('dialog', { 'aria-labelledby': titleId }, form);
  let isDone = false;
  const submit = async () => {
    yes.disabled = true;
    problem.replaceChildren();
    try {
      await act(new FormData(form));
      isDone = true;
      dialog.close();
    } catch (error) {
      problem.replaceChildren(errorNotice(error, { role: null, next }));
      selectPassword(form);
    } finally {
      yes.disabled = false;
    }
  };
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    if (!yes.disabled) void submit();
  });
  no.addEventListener('click', () => {
    dialog.close();
  });
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener('close', () => {
      dialog.remove();
      resolve(isDone);
    });
  });
}
