/** Joins pages of a list: newest first, without duplicates or gaps, whatever changed between two answers. */

/**
 * @template Item
 * @typedef {(row: Item, other: Item) => boolean} IsBelow whether a row is below another one in the list
 */

/**
 * The order of `GET /approvals`: by time, then by id.
 * @type {IsBelow<{ id: string, created_at: string }>}
 */
export const byTime = (row, other) =>
  row.created_at === other.created_at ? row.id < other.id : row.created_at < other.created_at;

/**
 * The order of lists whose ids follow time.
 * @type {IsBelow<{ id: string }>}
 */
export const byId = (row, other) => row.id < other.id;

/**
 * `upper` with the known rows below its last one.
 * @template Item
 * @param {readonly Item[]} upper
 * @param {readonly Item[]} known
 * @param {IsBelow<Item>} isBelow
 * @returns {Item[]}
 */
export function continuedBy(upper, known, isBelow) {
  const last = upper.at(-1);
  return last === undefined ? [...known] : [...upper, ...known.filter((row) => isBelow(row, last))];
}

/**
 * The list after its top was loaded again. Rows loaded below the answer stay, unless so much is new that the answer does not
 * reach down to them.
 * @template Item
 * @param {{ items: readonly Item[], next: string | null }} loaded
 * @param {{ items: readonly Item[], next: string | null }} top
 * @param {IsBelow<Item>} isBelow
 * @returns {{ items: Item[], next: string | null }}
 */
export function refreshedBy(loaded, top, isBelow) {
  const [first, last] = [loaded.items[0], top.items.at(-1)];
  const isApart = first === undefined || last === undefined || isBelow(first, last);
  if (top.next === null || isApart) return { items: [...top.items], next: top.next };
  const items = continuedBy(top.items, loaded.items, isBelow);
  return { items, next: items.length > top.items.length ? loaded.next : top.next };
}
