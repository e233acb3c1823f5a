/** Joins pages of the list: newest first, without duplicates or gaps, whatever changed between two answers. */

/** @typedef {{ id: string, created_at: string }} Row */

/**
 * Whether a row is below another one in `GET /approvals`, which sorts by time, then by id.
 * @param {Row} row
 * @param {Row} other
 */
const isBelow = (row, other) =>
  row.created_at === other.created_at ? row.id < other.id : row.created_at < other.created_at;

/**
 * `upper` with the known rows below its last one.
 * @template {Row} Item
 * @param {readonly Item[]} upper
 * @param {readonly Item[]} known
 * @returns {Item[]}
 */
export function continuedBy(upper, known) {
  const last = upper.at(-1);
  return last === undefined ? [...known] : [...upper, ...known.filter((row) => isBelow(row, last))];
}

/**
 * The list after its top was loaded again. Rows loaded below the answer stay, unless so much is new that the answer does not
 * reach down to them.
 * @template {Row} Item
 * @param {{ items: readonly Item[], next: string | null }} loaded
 * @param {{ items: readonly Item[], next: string | null }} top
 * @returns {{ items: Item[], next: string | null }}
 */
export function refreshedBy(loaded, top) {
  const [first, last] = [loaded.items[0], top.items.at(-1)];
  const isApart = first === undefined || last === undefined || isBelow(first, last);
  if (top.next === null || isApart) return { items: [...top.items], next: top.next };
  const items = continuedBy(top.items, loaded.items);
  return { items, next: items.length > top.items.length ? loaded.next : top.next };
}
