/** Tabs as in the ARIA Authoring Practices: one tab stop, arrow keys between them. */
import { h } from './dom.js';

/**
 * @typedef {object} Tab
 * @property {string} id
 * @property {string} label
 * @property {() => import('./payloads.d.ts').Child} content created when the tab is first selected
 */

const STEPS = new Map([
  ['ArrowRight', 1],
  ['ArrowLeft', -1],
]);

/**
 * @param {string} label
 * @param {readonly Tab[]} all
 */
export function tabs(label, all) {
  const buttons = all.map(({ id, label: name }) =>
    h('button', { type: 'button', role: 'tab', id: `tab-${id}`, 'aria-controls': `panel-${id}` }, name),
  );
  const panels = all.map(({ id }) =>
    h('div', { role: 'tabpanel', id: `panel-${id}`, 'aria-labelledby': `tab-${id}`, class: 'panel' }),
  );
  const choose = (/** @type {number} */ chosen) => {
    for (const [index, button] of buttons.entries()) {
      button.setAttribute('aria-selected', String(index === chosen));
      button.tabIndex = index === chosen ? 0 : -1;
    }
    for (const [index, panel] of panels.entries()) panel.hidden = index !== chosen;
    const [panel, tab] = [panels[chosen], all[chosen]];
    if (panel && tab && panel.childElementCount === 0) panel.append(h('div', null, tab.content()));
  };
  for (const [index, button] of buttons.entries()) {
    button.addEventListener('click', () => {
      choose(index);
    });
    button.addEventListener('keydown', ({ key }) => {
      const step = STEPS.get(key);
      if (step === undefined) return;
      const next = (index + step + all.length) % all.length;
      choose(next);
      buttons[next]?.focus();
    });
  }
  choose(0);
  return h(
    'div',
    { class: 'tabs' },
    h('div', { role: 'tablist', 'aria-label': label, class: 'segments' }, buttons),
    panels,
  );
}
