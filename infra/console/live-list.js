/** A list of a page that stays up to date. */
import { h } from './dom.js';
import { keepFresh } from './keep-fresh.js';

/** @typedef {import('./payloads.d.ts').Child} Child */

/**
 * Loads the items, and again while the view is shown. A focused row keeps the focus. Throws `ApiError`.
 * @template Item
 * @param {object} options
 * @param {AbortSignal} options.signal
 * @param {string} options.label
 * @param {() => Promise<readonly Item[]>} options.load
 * @param {(item: Item) => HTMLElement} options.rowOf an `li` with the item's id as `data-id`
 * @param {() => Child} options.empty shown instead of an empty list
 * @returns {Promise<readonly [HTMLElement, HTMLElement]>} the place for a problem, and the list
 */
export async function liveList({ signal, label, load, rowOf, empty }) {
  const list = h('div');
  const problem = h('div');
  const draw = whenChanged((/** @type {readonly Item[]} */ items) => {
    const rows = items.map(rowOf);
    list.replaceChildren(
      h('div', null, rows.length === 0 ? empty() : h('ul', { class: 'entries', 'aria-label': label }, rows)),
    );
  });
  const refresh = async () => {
    draw(await load());
  };
  await refresh();
  keepFresh(signal, problem, refresh);
  return [problem, list];
}

/**
 * Draws what differs from what is shown: while nothing changes, the rows stay as they are. The control that has the
 * focus gets it again in the new row with the same `data-id`.
 * @template Value
 * @param {(value: Value) => void} draw
 * @returns {(value: Value) => void}
 */
export function whenChanged(draw) {
  let shown = '';
  return (value) => {
    const signature = JSON.stringify(value);
    if (signature === shown) return;
    shown = signature;
    const row = document.activeElement?.closest('[data-id]') ?? null;
    const place = controlsOf(row).findIndex((each) => each === document.activeElement);
    draw(value);
    if (row === null || row.isConnected) return;
    const id = CSS.escape(row.getAttribute('data-id') ?? '');
    controlsOf(document.querySelector(`[data-id="${id}"]`))[place]?.focus();
  };
}

/**
 * @param {Element | null} row
 * @returns {HTMLElement[]}
 */
const controlsOf = (row) =>
  [...(row?.querySelectorAll('a, button, summary') ?? [])].filter((each) => each instanceof HTMLElement);

/**
 * A row that leads to a page.
 * @param {{ id: string, href: string, title: Child, about: readonly Child[], state: Child }} row
 */
export const entryRow = ({ id, href, title, about, state }) =>
  h(
    'li',
    { class: 'entry', 'data-id': id },
    h(
      'div',
      { class: 'entry-what' },
      h('a', { href }, title),
      about.map((line) => h('p', { class: 'quiet small' }, line)),
    ),
    h('div', { class: 'entry-state' }, state),
  );

/**
 * @param {string} title
 * @param {Child} next
 */
export const emptyList = (title, next) =>
  h('div', { class: 'empty' }, h('p', { class: 'empty-title' }, title), h('p', { class: 'quiet' }, next));
