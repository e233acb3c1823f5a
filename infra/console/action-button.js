/** A button that acts at once; what went wrong is shown where its view says. */
import { h } from './dom.js';
import { errorNotice } from './error-notice.js';

/**
 * @typedef {object} ActionOptions
 * @property {string} [tone] class of the button
 * @property {string} [about] what it acts on, for those who do not see where it stands
 * @property {HTMLElement} problem where an error is shown
 * @property {Readonly<Record<string, string>>} [next] advice per error code
 * @property {() => Promise<unknown>} act
 */

/**
 * @param {string} label
 * @param {ActionOptions} options
 */
export function actionButton(label, { tone = 'plain', about, problem, next = {}, act }) {
  const unseen = about === undefined ? null : h('span', { class: 'unseen' }, ` ${about}`);
  const button = h('button', { type: 'button', class: tone }, label, unseen);
  // Not disabled meanwhile: it keeps the focus.
  let isBusy = false;
  const run = async () => {
    if (isBusy) return;
    isBusy = true;
    problem.replaceChildren();
    try {
      await act();
    } catch (error) {
      problem.replaceChildren(errorNotice(error, { next }));
    } finally {
      isBusy = false;
    }
  };
  button.addEventListener('click', () => void run());
  return button;
}
