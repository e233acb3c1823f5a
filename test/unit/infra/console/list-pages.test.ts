import { join } from 'node:path';
import { expect } from 'chai';
import fc from 'fast-check';

interface Row {
  readonly id: string;
  readonly created_at: string;
}
interface Loaded {
  readonly items: readonly Row[];
  readonly next: string | null;
}
type IsBelow = (row: Row, other: Row) => boolean;
interface ListPages {
  readonly byTime: IsBelow;
  continuedBy(upper: readonly Row[], known: readonly Row[], isBelow: IsBelow): Row[];
  refreshedBy(loaded: Loaded, top: Loaded, isBelow: IsBelow): { items: Row[]; next: string | null };
}

const LARGEST_PAGE = 4;
const PAGE = 2;
/** Two approvals may have the same time. */
const rowOf = (n: number): Row => ({
  id: `chk_${String(n).padStart(3, '0')}`,
  created_at: new Date(Math.floor(n / 2) * 1_000).toISOString(),
});
const belowWhich = (rows: readonly Row[], cursor: string | null): number =>
  cursor === null ? 0 : rows.findIndex(({ id }) => id < cursor);

/** The answer of the route: newest first, with the last row's id as the cursor. */
function answer(rows: readonly Row[], limit: number, cursor: string | null): Loaded {
  const from = belowWhich(rows, cursor);
  const rest = from < 0 ? [] : rows.slice(from);
  const items = rest.slice(0, limit);
  return { items, next: rest.length > limit ? (items.at(-1)?.id ?? null) : null };
}

describe('list of the console', () => {
  let pages: ListPages;
  before(async () => {
    const file = join(import.meta.dirname, '../../../../infra/console/list-pages.js');
    pages = (await import(file)) as ListPages;
  });

  const refreshed = (loaded: Loaded, top: Loaded) => pages.refreshedBy(loaded, top, pages.byTime);

  it('has every approval once when more new ones arrive than an answer holds', () => {
    const old = Array.from({ length: 6 }, (_, n) => rowOf(5 - n));
    const now = [rowOf(8), rowOf(7), rowOf(6), ...old];
    const { items, next } = refreshed({ items: old, next: null }, answer(now, LARGEST_PAGE, null));
    expect(items).to.deep.equal(now);
    expect(next).to.equal(null);
  });

  it('continues after the answer when it reaches below the loaded rows, and ends where it ends', () => {
    const old = Array.from({ length: 6 }, (_, n) => rowOf(19 - n));
    const now = Array.from({ length: 6 }, (_, n) => rowOf(9 - n));
    const after = refreshed({ items: old, next: old[5]?.id ?? '' }, answer(now, LARGEST_PAGE, null));
    expect(after).to.deep.equal({ items: now.slice(0, LARGEST_PAGE), next: now[3]?.id });
    const few = answer(now.slice(0, 2), LARGEST_PAGE, null);
    expect(refreshed({ items: old, next: null }, few)).to.deep.equal({
      items: now.slice(0, 2),
      next: null,
    });
  });

  it('starts again when the answer does not reach the loaded rows', () => {
    const now = Array.from({ length: 9 }, (_, n) => rowOf(8 - n));
    const top = answer(now, LARGEST_PAGE, null);
    expect(refreshed({ items: now.slice(5), next: null }, top)).to.deep.equal(top);
  });

  it('holds every row once and in order under random histories', () => {
    const steps = fc.array(fc.constantFrom('come', 'more', 'refresh'), { maxLength: 40 });
    fc.assert(
      fc.property(steps, (history) => {
        let rows: readonly Row[] = [];
        let list: Loaded = { items: [], next: null };
        for (const step of [...history, 'refresh']) {
          if (step === 'come') rows = [rowOf(rows.length), ...rows];
          else if (step === 'refresh') {
            const limit = Math.min(LARGEST_PAGE, Math.max(PAGE, list.items.length));
            list = refreshed(list, answer(rows, limit, null));
          } else if (list.next !== null) {
            const { items, next } = answer(rows, PAGE, list.next);
            list = { items: pages.continuedBy(list.items, items, pages.byTime), next };
          }
        }
        const { items, next } = list;
        expect(items).to.deep.equal(rows.slice(0, items.length));
        expect(next).to.equal(items.length === rows.length ? null : items.at(-1)?.id);
      }),
    );
  });
});
