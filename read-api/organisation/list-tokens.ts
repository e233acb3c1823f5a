/** GET /tokens and /tokens/:token_id. */
import { z } from 'zod';
import { defineCapability } from '../../commands/kernel/capability.ts';
import type { TokenEntry } from '../../commands/ports/directory.ts';
import { notFound } from '../../commands/values/errors.ts';
import type { Ports } from '../../commands/ports/ports.ts';
import { describeToken, managesToken, Token, tokenIn } from '../../commands/organisation/manage-tokens.ts';
import { listTokenUses } from '../../projections/token-use.ts';
import { collectionOf, pageFields, pageOfEntries } from '../paging/page.ts';

const Tokens = collectionOf(Token);
const ListInput = z.strictObject(pageFields);
const GetInput = z.strictObject({ token_id: z.string().min(1).max(64) });

export const listTokens = defineCapability<z.output<typeof ListInput>, z.output<typeof Tokens>>({
  name: 'list_tokens',
  title: 'List tokens',
  summary: 'Tokens of yours and of your agents, newest first; owners and admins see all.',
  description:
    'Tokens of yours and of your agents; owners and admins see those of the organisation. Never secrets.',
  effect: 'read',
  access: { any: ['tokens:manage'], freeInSession: true },
  rest: { method: 'get', path: '/tokens' },
  tool: null,
  idempotency: { kind: 'none' },
  input: ListInput,
  output: Tokens,
  handle: async (input, context) => {
    const { caller, ports } = context;
    const { state } = ports.directory;
    const entries = [...state.tokens.values()].filter((entry) => managesToken(caller, state, entry));
    const binding = { route: 'tokens', query: null };
    const { items, page } = pageOfEntries(context, binding, input, { entries, describe: (entry) => entry });
    return { items: await withLastUse(ports, items), page };
  },
});

export const getToken = defineCapability<z.output<typeof GetInput>, Token>({
  name: 'get_token',
  title: 'Get a token',
  summary: 'One token, without its secret.',
  description: 'One token, without its secret: scopes, mailboxes, end, status.',
  effect: 'read',
  access: { any: ['tokens:manage'], freeInSession: true },
  rest: { method: 'get', path: '/tokens/:token_id' },
  tool: null,
  idempotency: { kind: 'none' },
  input: GetInput,
  output: Token,
  handle: async ({ token_id }, context) => {
    const [described] = await withLastUse(context.ports, [tokenIn(context, token_id)]);
    if (!described) throw notFound('token');
    return described;
  },
});

async function withLastUse(
  { sql, clock }: Pick<Ports, 'sql' | 'clock'>,
  entries: readonly TokenEntry[],
): Promise<Token[]> {
  const uses = await listTokenUses(
    sql,
    entries.map(({ id }) => id),
  );
  const now = clock.now();
  return entries.map((entry) => ({
    ...describeToken(entry, now),
    last_used_at: uses.get(entry.id)?.toISOString() ?? null,
  }));
}
