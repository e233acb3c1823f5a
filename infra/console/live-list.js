/** A list of a page that stays up to date. */
import { h } from './dom.js';
import { keepFresh } from './keep-fresh.js';

/** @typedef {import('./payloads.d.ts').Child} Child */

/**
 * Loads the items, and again while the view is shown. A focused row keeps the focus: its link has the item's id as `data-id`.
 * Throws `ApiError`.
 * @template Item
 * @param {object} options
 * @param {AbortSignal} options.signal
 * @param {string} options.label
 * @param {() => Promise<readonly Item[]>} options.load
 * @param {(item: Item) => HTMLElement} options.rowOf an `li`
 * @param {() => Child} options.empty shown instead of an empty list
 * @returns {Promise<readonly [HTMLElement, HTMLElement]>} the place for a problem, and the list
 */
export async function liveList({ signal, label, load, rowOf, empty }) {
  const list = h('div');
  const problem = h('div');
  let shown = '';
  const refresh = async () => {
    const items = await load();
    const signature = JSON.stringify(items);
    if (signature === shown) return;
    shown = signature;
    const focused = document.activeElement?.getAttribute('data-id');
    const rows = items.map(rowOf);
    list.replaceChildren(
      h('div', null, rows.length === 0 ? empty() : h('ul', { class: 'entries', 'aria-label': label }, rows)),
    );
    if (focused == null) return;
    [...list.querySelectorAll('a')].find(({ dataset }) => dataset['id'] === focused)?.focus();
  };
  await refresh();
  keepFresh(signal, problem, refresh);
  return [problem, list];
}

/**
 * A row that leads to a page.
 * @param {{ id: string, href: string, title: Child, about: readonly Child[], state: Child }} row
 */
export const entryRow = ({ id, href, title, about, state }) =>
  h(
    'li',
    { class: 'entry' },
    h(
      'div',
      { class: 'entry-what' },
      h('a', { href, 'data-id': id }, title),
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
