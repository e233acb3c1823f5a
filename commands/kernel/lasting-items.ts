/**
 * Items of answers that are handed out again, the very same list: what is true of one for good, such as its JSON, has to be
 * found only once. Known by identity and held weakly, so a list lasts as long as who hands it out keeps it.
 */
const lasting = new WeakSet<object>();

/** Says of a list that it comes again and that nobody changes it or what is in it any more. */
export function markLasting<Items extends readonly unknown[]>(items: Items): Items {
  lasting.add(items);
  return items;
}

/** The `items` of an answer when they are such a list, else null. */
export function lastingItemsOf(output: unknown): readonly unknown[] | null {
  const items = typeof output === 'object' && output !== null && 'items' in output ? output.items : null;
  return Array.isArray(items) && lasting.has(items) ? items : null;
}
