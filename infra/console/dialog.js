/** A modal question. The browser's dialog traps and restores the focus; Escape cancels. */
import { ApiError } from './api.js';
import { h } from './dom.js';
import { errorNotice } from './error-notice.js';
import { field, selectPassword, textIn } from './fields.js';
import { foreign } from './foreign-text.js';

/**
 * @typedef {object} Question
 * @property {string} title
 * @property {readonly import('./payloads.d.ts').Child[]} content fields and text between the title and the buttons
 * @property {string} confirm label of the confirming button
 * @property {'primary' | 'danger'} [tone]
 * @property {Readonly<Record<string, string>>} [next] advice per error code
 * @property {(form: FormData) => Promise<unknown>} act runs on confirm; when it throws, the dialog stays and shows the error
 */

let count = 0;

/** Cancels open questions when their view is left. */
export function closeDialogs() {
  for (const dialog of document.querySelectorAll('dialog')) dialog.close();
}

/**
 * Resolves with true once `act` is done, with false when the person cancels.
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
  /** @type {(isDone: boolean) => void} */
  let settle = () => undefined;
  // Not left to the close event, which comes with the next frame: what asked takes another press at once.
  const leave = (isDone = false) => {
    dialog.close();
    dialog.remove();
    settle(isDone);
  };
  const submit = async () => {
    yes.disabled = true;
    problem.replaceChildren();
    try {
      await act(new FormData(form));
      leave(true);
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
  for (const [target, type] of /** @type {const} */ ([
    [no, 'click'],
    [dialog, 'cancel'],
    [dialog, 'close'],
  ]))
    target.addEventListener(type, () => {
      leave();
    });
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((resolve) => {
    settle = resolve;
  });
}

/**
 * Asks before something that cannot be undone, or hardly: the person types what it is about.
 * @param {Omit<Question, 'content' | 'tone' | 'act'> & { about: string, wanted: string, act: (typed: string) => Promise<unknown> }} question
 * @returns {Promise<boolean>}
 */
export const askTyped = ({ about, wanted, act, ...question }) =>
  ask({
    ...question,
    content: [
      h('p', null, about),
      field('confirmed', ['Type ', foreign(wanted), ' to confirm'], {
        autocomplete: 'off',
        spellcheck: 'false',
      }),
    ],
    tone: 'danger',
    act: async (form) => {
      const typed = textIn(form, 'confirmed').trim();
      if (typed.toLowerCase() !== wanted.toLowerCase())
        throw new ApiError('not_confirmed', 'That is not what stands there. Nothing was done.');
      await act(typed);
    },
  });
