/** POST /auth/authorization-requests/read: what an application asks for, for the person who decides. */
import { z } from 'zod';
import { type Context, defineCapability } from '../../commands/kernel/capability.ts';
import { whyNot } from '../../commands/oauth/allowed-clients.ts';
import { Application, describeApplication } from '../../commands/oauth/application-payload.ts';
import { isConnected } from '../../commands/oauth/connections.ts';
import {
  ConsentTokenField,
  DEFAULT_DAYS,
  MOST_DAYS,
  offeredScopes,
} from '../../commands/oauth/decide-authorization-request.ts';
import { notFound } from '../../commands/values/errors.ts';

const Input = z.strictObject({ consent_token: ConsentTokenField });

const AuthorizationRequest = z.object({
  application: Application,
  organisation: z.object({ id: z.string(), name: z.string() }),
  refusal: z.string().nullable().describe('Why you cannot allow it here; null when you can.'),
  scopes: z.array(z.string()).describe('What you can allow: asked for, and held by you.'),
  mailboxes: z.array(
    z.object({
      id: z.string(),
      email: z.string(),
      scopes: z.array(z.string()).describe('What you hold on it.'),
    }),
  ),
  default_days: z.number(),
  most_days: z.number(),
  connections: z
    .array(z.object({ id: z.string(), connected_at: z.string() }))
    .describe('What you allowed the same application before. A new permission does not replace it.'),
});
type AuthorizationRequest = z.output<typeof AuthorizationRequest>;

export const readAuthorizationRequest = defineCapability<z.output<typeof Input>, AuthorizationRequest>({
  name: 'read_authorization_request',
  title: 'Look at the request of an application',
  summary: 'Who asks for access in your name, for what, and where its answer goes.',
  description: 'For the page on which a person decides. Reading it changes nothing.',
  effect: 'read',
  access: 'session',
  rest: { method: 'post', path: '/auth/authorization-requests/read' },
  tool: null,
  idempotency: { kind: 'none' },
  input: Input,
  output: AuthorizationRequest,
  handle: async ({ consent_token }, context) => {
    const { caller, ports } = context;
    const { state } = ports.directory;
    const request = await ports.authorizationRequests.find(consent_token);
    if (request === null) throw notFound('request of an application; begin again in the application');
    const offered = offeredScopes(state, caller, request);
    return {
      application: describeApplication(request.client),
      organisation: { id: caller.org.id, name: caller.org.name },
      refusal: whyNot(state, caller.org.id, request.client),
      scopes: [...offered],
      mailboxes: mailboxesOf(context),
      default_days: DEFAULT_DAYS,
      most_days: MOST_DAYS,
      connections: connectionsOf(context, request.client.id),
    };
  },
});

const mailboxesOf = ({ caller, ports }: Context): AuthorizationRequest['mailboxes'] =>
  [...caller.mailboxes].map(([id, { scopes }]) => ({
    id,
    email: ports.directory.state.mailboxes.get(id)?.email ?? '',
    scopes: [...scopes],
  }));

function connectionsOf({ caller, ports }: Context, clientId: string): AuthorizationRequest['connections'] {
  const { state } = ports.directory;
  const now = ports.clock.now();
  return [...state.oauthGrants.values()]
    .filter(
      (entry) =>
        entry.clientId === clientId &&
        entry.orgId === caller.org.id &&
        entry.principalId === caller.principal.id &&
        isConnected(state, entry, now),
    )
    .map(({ id, createdAt }) => ({ id, connected_at: createdAt }));
}
