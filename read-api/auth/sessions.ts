/** GET /auth/session and /auth/sessions: the current session and all sessions of a person. */
import { z } from 'zod';
import { deviceInWords } from '../../commands/accounts/device-in-words.ts';
import { type Context, defineCapability } from '../../commands/kernel/capability.ts';
import type { SessionEntry } from '../../commands/ports/directory.ts';
import { notFound } from '../../commands/values/errors.ts';
import { requireSession } from '../../commands/kernel/live-caller.ts';
import {
  describeSession,
  openSessionsOf,
  Session,
  SESSION_IDLE_MS,
} from '../../commands/accounts/session.ts';
import { listTokenUses } from '../../projections/token-use.ts';
import { collectionOf, pageFields, pageOfEntries } from '../paging/page.ts';

const NoInput = z.strictObject({});
const ListInput = z.strictObject(pageFields);

const ListedSession = Session.extend({
  is_current: z.boolean(),
  last_used_at: z.string().describe('To the minute.'),
  ip: z.string().nullable().describe('Where it was started.'),
  user_agent: z.string().nullable(),
  device: z.string().nullable().describe('The browser and the system, in words.'),
});
type ListedSession = z.output<typeof ListedSession>;
const Sessions = collectionOf(ListedSession);

export const getSession = defineCapability<z.output<typeof NoInput>, Session>({
  name: 'get_session',
  title: 'This session',
  summary: 'Who is signed in, where, and until when.',
  description:
    'Who is signed in, with which role, until when, and whether the password counts as just given.',
  effect: 'read',
  access: 'session',
  whileDeleted: true,
  rest: { method: 'get', path: '/auth/session' },
  tool: null,
  idempotency: { kind: 'none' },
  input: NoInput,
  output: Session,
  handle: async (_, { caller, ports }) => {
    const { state } = ports.directory;
    const entry = state.sessions.get(requireSession(caller).id);
    const described = entry && describeSession(state, entry, ports.clock.now());
    if (!described) throw notFound('session');
    return described;
  },
});

export const listSessions = defineCapability<z.output<typeof ListInput>, z.output<typeof Sessions>>({
  name: 'list_sessions',
  title: 'List sessions',
  summary: 'Your sessions that are not over, newest first.',
  description:
    'Your sessions that are not over, newest first, with the address and the browser they were started from.',
  effect: 'read',
  access: 'session',
  whileDeleted: true,
  rest: { method: 'get', path: '/auth/sessions' },
  tool: null,
  idempotency: { kind: 'none' },
  input: ListInput,
  output: Sessions,
  handle: async (input, context) => {
    const { caller, ports } = context;
    const now = ports.clock.now().getTime();
    const open = openSessionsOf(ports.directory, caller.principal.id);
    const uses = await listTokenUses(
      ports.sql,
      open.map(({ id }) => id),
    );
    const lastUse = ({ id, startedAt }: SessionEntry): Date => uses.get(id) ?? new Date(startedAt);
    const entries = open.filter(
      (entry) =>
        Date.parse(entry.expiresAt) > now &&
        (entry.id === caller.session?.id || lastUse(entry).getTime() + SESSION_IDLE_MS > now),
    );
    const binding = { route: 'sessions', query: null };
    const { items, page } = pageOfEntries(context, binding, input, { entries, describe: (entry) => entry });
    return { items: await listed(context, items, lastUse), page };
  },
});

async function listed(
  { caller, ports }: Context,
  entries: readonly SessionEntry[],
  lastUse: (entry: SessionEntry) => Date,
): Promise<ListedSession[]> {
  const shown: ListedSession[] = [];
  for (const entry of entries) {
    const described = describeSession(ports.directory.state, entry, ports.clock.now());
    if (!described) continue;
    const client = ClientText.parse(entry.client && (await ports.personal.open(entry.client)));
    shown.push({
      ...described,
      is_current: entry.id === caller.session?.id,
      last_used_at: lastUse(entry).toISOString(),
      ip: client?.ip ?? null,
      user_agent: client?.user_agent ?? null,
      device: client && deviceInWords(client.user_agent),
    });
  }
  return shown;
}

/** As `Clients.seal` writes it; null once its owner was erased. */
const ClientText = z
  .string()
  .transform((text) => JSON.parse(text) as unknown)
  .pipe(z.object({ ip: z.string(), user_agent: z.string() }))
  .nullable();
