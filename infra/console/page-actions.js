/** The buttons of a page, and the place that shows what they led to. */
import { h } from './dom.js';
import { errorNotice } from './error-notice.js';

/** @typedef {import('./payloads.d.ts').Child} Child */

export class PageActions {
  /** What the last action led to. */
  outcome = h('div');
  #signal;
  #next;

  /**
   * @param {AbortSignal} signal of the view
   * @param {Readonly<Record<string, string>>} next advice per error code
   */
  constructor(signal, next) {
    this.#signal = signal;
    this.#next = next;
  }

  /**
   * @param {string} label
   * @param {string} tone
   * @param {() => Promise<Child>} act its result is shown; undefined leaves what is there
   */
  button(label, tone, act) {
    const button = h('button', { type: 'button', class: tone }, label);
    // Not disabled meanwhile: it keeps the focus.
    let isBusy = false;
    const run = async () => {
      if (isBusy) return;
      isBusy = true;
      try {
        const outcome = await act();
        if (outcome !== undefined) this.show(outcome);
      } catch (error) {
        if (!this.#signal.aborted) this.show(errorNotice(error, { next: this.#next }));
      } finally {
        isBusy = false;
      }
    };
    button.addEventListener('click', () => void run());
    return button;
  }

  /** @param {Child} outcome */
  show(outcome) {
    this.outcome.replaceChildren(...(outcome === null ? [] : [h('div', { class: 'view' }, outcome)]));
    this.outcome.querySelector('h2')?.focus();
  }
}

/**
 * Redraws the buttons of a toolbar; the one at the place of the focus gets it again.
 * @param {HTMLElement} toolbar
 * @param {readonly HTMLElement[]} buttons
 */
export function redrawToolbar(toolbar, buttons) {
  const focused = [...toolbar.children].findIndex((each) => each === document.activeElement);
  toolbar.replaceChildren(...buttons);
  const again = toolbar.children[focused];
  if (again instanceof HTMLElement) again.focus();
}
