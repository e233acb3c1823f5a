/** GET /org/connected-applications and one of them: what people allowed applications to do in their name. */
import { z } from 'zod';
import { type Context, defineCapability } from '../../commands/kernel/capability.ts';
import { ConnectedApplication, describeConnection } from '../../commands/oauth/application-payload.ts';
import { isConnected, maySee } from '../../commands/oauth/connections.ts';
import type { OAuthGrantEntry } from '../../commands/ports/directory.ts';
import { notFound } from '../../commands/values/errors.ts';
import { listTokenUses } from '../../projections/token-use.ts';
import { collectionOf, pageFields, pageOfEntries } from '../paging/page.ts';

const ConnectedApplications = collectionOf(ConnectedApplication);
const ListInput = z.strictObject({
  ...pageFields,
  user_id: z.string().min(1).max(64).optional().describe('Only those of this person.'),
});
const GetInput = z.strictObject({ grant_id: z.string().min(1).max(64) });

/** A person needs no scope for their own. */
const ACCESS = { any: ['org:manage'], freeInSession: true } as const;

export const listConnectedApplications = defineCapability<
  z.output<typeof ListInput>,
  z.output<typeof ConnectedApplications>
>({
  name: 'list_connected_applications',
  title: 'List connected applications',
  summary: 'The applications that act in your name, newest first; owners see those of everybody.',
  description:
    'Each permission (OAuth grant) that counts now: application, person, scopes, mailboxes, end and last use. Those that ended ' +
    'are in the audit trail.',
  effect: 'read',
  access: ACCESS,
  rest: { method: 'get', path: '/org/connected-applications' },
  tool: null,
  idempotency: { kind: 'none' },
  input: ListInput,
  output: ConnectedApplications,
  handle: async (input, context) => {
    const { user_id } = input;
    const entries = connections(context).filter(
      ({ principalId }) => user_id === undefined || principalId === user_id,
    );
    const binding = { route: 'connected-applications', query: user_id ?? null };
    const { items, page } = pageOfEntries(context, binding, input, { entries, describe: (entry) => entry });
    return { items: await described(context, items), page };
  },
});

export const getConnectedApplication = defineCapability<z.output<typeof GetInput>, ConnectedApplication>({
  name: 'get_connected_application',
  title: 'Get a connected application',
  summary: 'One connected application.',
  description: 'What one application may do in the name of one person, until when, and its last use.',
  effect: 'read',
  access: ACCESS,
  rest: { method: 'get', path: '/org/connected-applications/:grant_id' },
  tool: null,
  idempotency: { kind: 'none' },
  input: GetInput,
  output: ConnectedApplication,
  handle: async ({ grant_id }, context) => {
    const entry = context.ports.directory.state.oauthGrants.get(grant_id);
    const [found] = await described(context, entry && isShown(context, entry) ? [entry] : []);
    if (!found) throw notFound('connected application');
    return found;
  },
});

const isShown = ({ caller, ports }: Context, entry: OAuthGrantEntry): boolean =>
  maySee(caller, entry) && isConnected(ports.directory.state, entry, ports.clock.now());

const connections = (context: Context): readonly OAuthGrantEntry[] =>
  [...context.ports.directory.state.oauthGrants.values()].filter((entry) => isShown(context, entry));

async function described(
  { ports }: Context,
  entries: readonly OAuthGrantEntry[],
): Promise<ConnectedApplication[]> {
  const uses = await listTokenUses(
    ports.sql,
    entries.map(({ id }) => id),
  );
  return entries.map((entry) => describeConnection(ports.directory.state, entry, uses.get(entry.id) ?? null));
}
