/** A page of a list of which the query cannot tell what all may be shown: rows are left out, pages stay full. */

/** Of one request; whoever sees next to nothing of a long list gets shorter pages, and the next one goes on. */
const MOST_QUERIES = 20;

export interface Shown<Row, Key> {
  readonly rows: readonly Row[];
  /** Where the next page begins; null at the end. */
  readonly next: Key | null;
}

interface Paging<Row, Key> {
  readonly before: Key | null;
  readonly limit: number;
  readonly keyOf: (row: Row) => Key;
  readonly isShown: (row: Row) => Promise<boolean>;
}

/** `query` answers the rows behind a key, at most as many as it is told. One query where everything is shown. */
export async function shownPage<Row, Key>(
  query: (before: Key | null, limit: number) => Promise<readonly Row[]>,
  { before, limit, keyOf, isShown }: Paging<Row, Key>,
): Promise<Shown<Row, Key>> {
  let shown: readonly Row[] = [];
  let last = before;
  for (let asked = 0; asked < MOST_QUERIES; asked += 1) {
    const rows = await query(last, limit + 1);
    const marks = await Promise.all(rows.map(isShown));
    const found = [...shown, ...rows.filter((_, index) => marks[index] === true)];
    const end = found[limit - 1];
    if (found.length > limit && end !== undefined) return { rows: found.slice(0, limit), next: keyOf(end) };
    if (rows.length <= limit) return { rows: found, next: null };
    shown = found;
    last = keyOf(rows[rows.length - 1] as Row);
  }
  return { rows: shown, next: last };
}
