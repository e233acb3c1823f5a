/** Arrays of one dimension as the text that Postgres reads: what the driver makes of them, in a fraction of its time. */

/** Null when the driver has to write it: another kind of item is in it. */
export function arrayLiteral(items: readonly unknown[]): string | null {
  const parts = new Array<string>(items.length);
  for (let place = 0; place < items.length; place += 1) {
    const item = items[place];
    if (typeof item === 'string') parts[place] = quoted(item);
    else if (item === null || item === undefined) parts[place] = 'NULL';
    else if (typeof item === 'number' || typeof item === 'boolean') parts[place] = `"${String(item)}"`;
    else return null;
  }
  return `{${parts.join(',')}}`;
}

const quoted = (item: string): string =>
  `"${item.includes('"') || item.includes('\\') ? item.replace(/["\\]/g, '\\$&') : item}"`;
