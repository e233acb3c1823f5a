/** Collections: items and a forward-only keyset cursor, bound to log, route, caller, filter and order (`contract.md` 4). */
import { z } from 'zod';
import type { Context } from '../../commands/kernel/capability.ts';
import { GatewayError } from '../../commands/values/errors.ts';
import { canonicalJson } from '../../commands/kernel/idempotency.ts';

const REST_LIMIT = { default: 50, max: 200 };
const MCP_LIMIT = { default: 20, max: 100 };

/** Input fields of every collection. The upper bound depends on the face, see `pageLimit`. */
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

/** The page size of this request. Throws `invalid_request` when it is over the limit of the face. */
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

/** What a cursor is good for: the route and everything that shapes its order. */
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
