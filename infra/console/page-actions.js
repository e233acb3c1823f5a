/** The buttons of a page, and the place that shows what they led to. */
import { actionButton } from './action-button.js';
import { h } from './dom.js';

/** @typedef {import('./payloads.d.ts').Child} Child */

export class PageActions {
  /** What the last action led to. */
  outcome = h('div');
  #next;

  /** @param {Readonly<Record<string, string>>} next advice per error code */
  constructor(next) {
    this.#next = next;
  }

  /**
   * @param {string} label
   * @param {string} tone
   * @param {() => Promise<Child>} act its result is shown; undefined leaves what it has shown itself
   * @param {string} [about] what it acts on, for those who do not see where it stands
   */
  button(label, tone, act, about) {
    return actionButton(label, {
      tone,
      ...(about === undefined ? {} : { about }),
      problem: this.outcome,
      next: this.#next,
      act: async () => {
        const outcome = await act();
        if (outcome !== undefined) this.show(outcome);
      },
    });
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
