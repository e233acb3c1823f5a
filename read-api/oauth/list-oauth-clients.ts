/** GET /org/oauth-clients and one of them. */
import { z } from 'zod';
import { defineCapability } from '../../commands/kernel/capability.ts';
import { describeOAuthClient, OAuthClient } from '../../commands/oauth/application-payload.ts';
import { clientIn } from '../../commands/oauth/manage-oauth-clients.ts';
import { collectionOf, pageFields, pageOfEntries } from '../paging/page.ts';

const OAuthClients = collectionOf(OAuthClient);
const ListInput = z.strictObject(pageFields);
const GetInput = z.strictObject({ oauth_client_id: z.string().min(1).max(64) });

export const listOAuthClients = defineCapability<z.output<typeof ListInput>, z.output<typeof OAuthClients>>({
  name: 'list_oauth_clients',
  title: 'List OAuth clients',
  summary: 'The applications that the organisation registered or approved, newest first.',
  description: 'Applications that the organisation registered or approved. Never secrets.',
  effect: 'read',
  access: { any: ['org:manage'], inSession: true },
  rest: { method: 'get', path: '/org/oauth-clients' },
  tool: null,
  idempotency: { kind: 'none' },
  input: ListInput,
  output: OAuthClients,
  handle: async (input, context) => {
    const { caller, ports } = context;
    const entries = [...ports.directory.state.oauthClients.values()].filter(
      ({ orgId }) => orgId === caller.org.id,
    );
    const binding = { route: 'oauth-clients', query: null };
    return pageOfEntries(context, binding, input, { entries, describe: describeOAuthClient });
  },
});

export const getOAuthClient = defineCapability<z.output<typeof GetInput>, OAuthClient>({
  name: 'get_oauth_client',
  title: 'Get an OAuth client',
  summary: 'One application that the organisation registered or approved.',
  description: 'One application that the organisation registered or approved, without its secret.',
  effect: 'read',
  access: { any: ['org:manage'], inSession: true },
  rest: { method: 'get', path: '/org/oauth-clients/:oauth_client_id' },
  tool: null,
  idempotency: { kind: 'none' },
  input: GetInput,
  output: OAuthClient,
  etag: ({ version }) => String(version),
  handle: async ({ oauth_client_id }, context) => describeOAuthClient(clientIn(context, oauth_client_id)),
});
