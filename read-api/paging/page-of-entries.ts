/** Pages over what the directory holds in memory, newest first: ids are UUIDv7, so their order is that of creation. */
import { z } from 'zod';
import type { Context } from '../../commands/kernel/capability.ts';
import { type CursorBinding, decodeCursor, encodeCursor, type Page, pageLimit } from './page.ts';

export interface PageRequest {
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}

/** One page of entries and the cursor of the next. Throws `cursor_invalid`, `invalid_request`. */
export function pageOfEntries<Entry extends { readonly id: string }, Item>(
  context: Context,
  binding: CursorBinding,
  request: PageRequest,
  from: { readonly entries: readonly Entry[]; readonly describe: (entry: Entry) => Item },
): { items: Item[]; page: Page } {
  const limit = pageLimit(context, request.limit);
  const before =
    request.cursor === undefined ? null : decodeCursor(context, binding, request.cursor, z.string());
  const rest = from.entries
    .filter(({ id }) => before === null || id < before)
    .toSorted((a, b) => (a.id < b.id ? 1 : -1));
  const shown = rest.slice(0, limit);
  const last = rest.length > limit ? shown.at(-1) : undefined;
  return {
    items: shown.map(from.describe),
    page: {
      next_cursor: last ? encodeCursor(context, binding, last.id) : null,
      limit,
      as_of: context.ports.clock.now().toISOString(),
    },
  };
}
