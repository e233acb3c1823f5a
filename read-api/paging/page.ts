/** Collections: items and a forward-only keyset cursor, bound to log, route, caller, filter and order (`contract.md` 4). */
import { z } from 'zod';
import type { Context } from '../../commands/kernel/capability.ts';
import { GatewayError, notFound } from '../../commands/values/errors.ts';
import { canonicalJson } from '../../commands/values/canonical-json.ts';

const REST_LIMIT = { default: 50, max: 200 };
const MCP_LIMIT = { default: 20, max: 100 };

/** Input fields of every collection. The upper bound depends on the adapter, see `pageLimit`. */
export const pageFields = {
  limit: z
    .int()
    .min(1)
    .max(REST_LIMIT.max)
    .optional()
    .describe('Items per page: 50 by default on REST, 20 on MCP.'),
  cursor: z.string().min(1).max(2_000).optional().describe('page.next_cursor of the last page.'),
};

export const Page = z.object({
  next_cursor: z.string().nullable(),
  limit: z.int(),
  as_of: z.string().describe('The moment the page speaks of.'),
});
export type Page = z.output<typeof Page>;

export const collectionOf = <Item extends z.ZodType>(item: Item) =>
  z.object({ items: z.array(item), page: Page });

/** The page size of this request. Throws `invalid_request` when it exceeds the adapter's limit. */
export function pageLimit(
  { request }: Pick<Context, 'request'>,
  limit: number | undefined,
  path = 'limit',
): number {
  const bounds = request.surface === 'mcp' ? MCP_LIMIT : REST_LIMIT;
  if (limit === undefined) return bounds.default;
  if (limit <= bounds.max) return limit;
  throw new GatewayError('invalid_request', `A page has at most ${String(bounds.max)} items here.`, {
    details: { issues: [{ path, code: 'too_big', message: `at most ${String(bounds.max)}` }] },
  });
}

/** The scope of a cursor: the route and everything that determines its order. */
export interface CursorBinding {
  readonly route: string;
  readonly query: unknown;
}

const macOf = (
  { caller, ports }: Pick<Context, 'caller' | 'ports'>,
  binding: CursorBinding,
  payload: string,
): string =>
  ports.ids
    .reservationName(
      `cursor\u0000${canonicalJson({ ...binding, log: ports.server.logId, caller: [caller.org.id, caller.principal.id] })}\u0000${payload}`,
    )
    .slice(0, 32);

/** A cursor text for a keyset of JSON values. */
export function encodeCursor(
  context: Pick<Context, 'caller' | 'ports'>,
  binding: CursorBinding,
  keyset: unknown,
): string {
  const payload = Buffer.from(JSON.stringify(keyset)).toString('base64url');
  return `${payload}.${macOf(context, binding, payload)}`;
}

/** The keyset of a cursor. Throws `cursor_invalid` when it was edited or belongs to another query or caller. */
export function decodeCursor<Keyset>(
  context: Pick<Context, 'caller' | 'ports'>,
  binding: CursorBinding,
  cursor: string,
  schema: z.ZodType<Keyset>,
): Keyset {
  const [payload = '', mac = '', ...more] = cursor.split('.');
  if (more.length === 0 && mac !== '' && mac === macOf(context, binding, payload)) {
    const parsed = schema.safeParse(JSON.parse(Buffer.from(payload, 'base64url').toString()));
    if (parsed.success) return parsed.data;
  }
  throw new GatewayError('cursor_invalid', 'This cursor is of another query; start again without it.');
}

/** Pages over entries of the in-memory directory, newest first: UUIDv7 ids sort by creation. */
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

/** A page of a list whose query cannot decide visibility alone: hidden rows are left out, pages stay full. */

/** Per request. A caller who sees few rows of a long list gets shorter pages, and the next page continues. */
const MOST_QUERIES = 20;

export interface Shown<Row, Key> {
  readonly rows: readonly Row[];
  /** Start of the next page; null at the end. */
  readonly next: Key | null;
}

interface Paging<Row, Key> {
  readonly before: Key | null;
  readonly limit: number;
  readonly keyOf: (row: Row) => Key;
  readonly isShown: (row: Row) => Promise<boolean>;
}

/** `query` returns at most the requested number of rows after a key. One query where everything is shown. */
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

/**
 * A page of rows with ids, newest first: `query` returns rows below an id, `isShown` says which of them the caller may see.
 * Throws `cursor_invalid`, `invalid_request`.
 */
export async function pageOfRows<Row extends { readonly id: string }, Item>(
  context: Context,
  binding: CursorBinding,
  request: PageRequest,
  from: {
    readonly query: (before: string | null, limit: number) => Promise<readonly Row[]>;
    readonly isShown: (row: Row) => boolean;
    readonly describe: (row: Row) => Promise<Item>;
  },
): Promise<{ items: Item[]; page: Page }> {
  const limit = pageLimit(context, request.limit);
  const before =
    request.cursor === undefined ? null : decodeCursor(context, binding, request.cursor, z.string());
  const asOf = context.ports.clock.now().toISOString();
  const { rows, next } = await shownPage(from.query, {
    before,
    limit,
    keyOf: ({ id }) => id,
    isShown: (row) => Promise.resolve(from.isShown(row)),
  });
  return {
    items: await Promise.all(rows.map(from.describe)),
    page: {
      next_cursor: next === null ? null : encodeCursor(context, binding, next),
      limit,
      as_of: asOf,
    },
  };
}

/** The id, or null without one. Throws `not_found` for an unknown mailbox: an empty list would mislead. */
export function mailboxFilter({ caller, ports }: Context, mailboxId: string | undefined): string | null {
  if (mailboxId === undefined) return null;
  if (ports.directory.state.mailboxes.get(mailboxId)?.orgId !== caller.org.id) throw notFound('mailbox');
  return mailboxId;
}
