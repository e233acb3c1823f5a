/** Approvals that wait for this person: their number in the title, and word of each that begins to wait. */
import { h } from './dom.js';
import { keepFresh } from './keep-fresh.js';
import { notify } from './notifications.js';
import { listApprovals } from './routes.js';

const MOST = 200;

/** @type {string} */
let title = document.title;
/** In the title before everything else; '' without any. */
let count = '';

const draw = () => {
  document.title = `${count}${title}`;
};

/** @param {string} text */
export function setTitle(text) {
  title = text;
  draw();
}

/**
 * Counts until the signal is aborted; notifies of those that were not there at first.
 * @param {import('./names.js').Names} names
 * @param {AbortSignal} signal
 */
export function countWaiting(names, signal) {
  signal.addEventListener('abort', () => {
    count = '';
    draw();
  });
  if (!names.hasRole('approver')) return;
  /** @type {Set<string> | null} */
  let known = null;
  const refresh = async () => {
    const query = { role: 'approver', status: 'awaiting_approval', limit: String(MOST) };
    const { items, page } = await listApprovals(query, signal);
    count = items.length === 0 ? '' : `(${String(items.length)}${page.next_cursor === null ? '' : '+'}) `;
    draw();
    const before = known;
    known = new Set([...(before ?? []), ...items.map(({ id }) => id)]);
    if (before !== null) for (const item of items) if (!before.has(item.id)) notify(item);
  };
  // The view shows its own problem with the same gateway.
  keepFresh(signal, h('div'), refresh, { atOnce: true, alsoHidden: true });
}
