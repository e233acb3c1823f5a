/** POST, PATCH and DELETE of /org/oauth-clients: applications that an organisation registers or approves. */
import { z } from 'zod';
import {
  answerWhenKnown,
  type Context,
  defineCapability,
  madeBefore,
  Nothing,
  replayNothing,
} from '../kernel/capability.ts';
import { decideAndAppend, loadAggregate, streamOf } from '../kernel/decide-and-append.ts';
import type { OAuthClientEntry } from '../ports/directory.ts';
import { GatewayError, invalidField, notFound } from '../values/errors.ts';
import { lineOfText } from '../values/input-fields.ts';
import { SCOPES } from '../values/scopes.ts';
import { entryFor } from './allowed-clients.ts';
import { describeOAuthClient, OAuthClient } from './application-payload.ts';
import { endConnections } from './connections.ts';
import {
  changeOAuthClient,
  deleteOAuthClient as decideDeletion,
  oauthClient,
  type OAuthClientTerms,
  registerOAuthClient,
} from './oauth-client.ts';
import { GRANTABLE_SCOPES } from './oauth-grant.ts';
import { RedirectUriField } from './redirect-uri.ts';

const ACCESS = { any: ['org:manage'], inSession: true, steppedUp: true } as const;
const MOST_REDIRECTS = 10;

const RedirectUris = z.array(RedirectUriField).min(1).max(MOST_REDIRECTS);
const Scopes = z
  .array(z.enum(SCOPES))
  .min(1)
  .max(SCOPES.length)
  .superRefine((scopes, refinement) => {
    const beyond = scopes.filter((scope) => !GRANTABLE_SCOPES.includes(scope));
    if (beyond.length > 0)
      refinement.addIssue({ code: 'custom', message: `An application cannot hold ${beyond.join(', ')}.` });
  })
  .nullable()
  .describe('The most that a person may allow it; null = everything that an application may hold.');

const CreateInput = z.strictObject({
  name: lineOfText(100),
  redirect_uris: RedirectUris.optional().describe('To register an application.'),
  confidential: z
    .boolean()
    .optional()
    .describe('It runs on a server and can keep a secret, which the answer shows once.'),
  client_id: lineOfText(2_000)
    .optional()
    .describe(
      'To approve an application instead: the address of its metadata, or the id it got by registering itself.',
    ),
  scopes: Scopes.optional(),
});
type CreateInput = z.output<typeof CreateInput>;

const Created = OAuthClient.extend({
  client_secret: z.string().optional().describe('Of a confidential one; it is not shown again.'),
  secret_shown: z.boolean(),
});
type Created = z.output<typeof Created>;

export const createOAuthClient = defineCapability<CreateInput, Created>({
  name: 'create_oauth_client',
  title: 'Register or approve an application',
  summary: 'Registers an OAuth client of the organisation, or approves one that is known by its own id.',
  description:
    'With redirect_uris: registers an application of the organisation, which its members alone can connect. With client_id: ' +
    'approves an application for PATCH /org {"oauth_clients": "approved"}. scopes limits what people may allow it.',
  effect: 'write',
  access: ACCESS,
  rest: {
    method: 'post',
    path: '/org/oauth-clients',
    status: 201,
    location: ({ id }) => `/org/oauth-clients/${id}`,
  },
  tool: null,
  idempotency: {
    kind: 'claim',
    replay: async (targetId, _, context) => {
      const stream = streamOf(oauthClient, targetId);
      const entry = await madeBefore(context, stream, ({ oauthClients }) => oauthClients.get(targetId));
      return entry && { ...describeOAuthClient(entry), secret_shown: false };
    },
  },
  input: CreateInput,
  output: Created,
  etag: ({ version }) => String(version),
  handle: async (input, context) => {
    const { ports, writer, author, caller } = context;
    assertOneKind(context, input);
    const id = await context.claim('oac');
    const secret = input.confidential === true ? ports.tokens.newClientSecret(caller.org.id) : null;
    const terms: OAuthClientTerms = {
      client_id: input.client_id ?? null,
      name: input.name,
      redirect_uris: input.redirect_uris ?? [],
      scopes: input.scopes ?? null,
      secret_hash: secret && (await ports.personal.seal(id, secret.hash)),
    };
    const { position } = await decideAndAppend(writer, author, oauthClient, {
      id,
      decide: (state) => registerOAuthClient(state, terms),
    });
    await answerWhenKnown(context, position);
    const described = describeOAuthClient(clientIn(context, id));
    return { ...described, ...(secret && { client_secret: secret.token }), secret_shown: secret !== null };
  },
});

/** Throws `invalid_request` unless it registers or approves, `conflict` for an application approved before. */
function assertOneKind(
  { caller, ports }: Context,
  { redirect_uris, client_id, confidential }: CreateInput,
): void {
  if ((redirect_uris === undefined) === (client_id === undefined))
    throw invalidField(
      'redirect_uris',
      'Send redirect_uris to register an application, or client_id to approve one.',
    );
  if (client_id === undefined) return;
  if (confidential === true)
    throw invalidField('confidential', 'An approved application has no secret here.');
  if (!/^(https:\/\/.+|oac_[0-9a-z]{26})$/.test(client_id))
    throw invalidField(
      'client_id',
      'Send the https address of its metadata, or the oac_ id it got by registering itself.',
    );
  if (entryFor(ports.directory.state, caller.org.id, client_id) !== null)
    throw new GatewayError('conflict', 'This application is registered or approved already.');
}

/** An application of the caller's organisation. Throws `not_found`. */
export function clientIn({ caller, ports }: Context, id: string): OAuthClientEntry {
  const entry = ports.directory.state.oauthClients.get(id);
  if (entry?.orgId !== caller.org.id) throw notFound('OAuth client');
  return entry;
}

const ClientIdField = z.string().min(1).max(64);

const UpdateInput = z.strictObject({
  oauth_client_id: ClientIdField,
  name: lineOfText(100).optional(),
  redirect_uris: RedirectUris.optional(),
  scopes: Scopes.optional(),
});

export const updateOAuthClient = defineCapability<z.output<typeof UpdateInput>, OAuthClient>({
  name: 'update_oauth_client',
  title: 'Change an OAuth client',
  summary: 'Renames an application, or changes its redirect addresses or the limit of its scopes.',
  description:
    'A change counts for what people allow from now on: connected applications keep their scopes. Disconnect them to take more away.',
  effect: 'write',
  access: ACCESS,
  rest: { method: 'patch', path: '/org/oauth-clients/:oauth_client_id' },
  tool: null,
  idempotency: {
    kind: 'claim',
    replay: (_, { oauth_client_id }, context, settled) =>
      Promise.resolve(settled ? describeOAuthClient(clientIn(context, oauth_client_id)) : null),
  },
  input: UpdateInput,
  output: OAuthClient,
  etag: ({ version }) => String(version),
  ifMatch: true,
  handle: async ({ oauth_client_id: id, name, redirect_uris, scopes }, context) => {
    const { ports, writer, author, request } = context;
    const entry = clientIn(context, id);
    if (redirect_uris !== undefined && !entry.isRegistered)
      throw invalidField('redirect_uris', 'An approved application has redirect addresses of its own.');
    const change = { name, redirect_uris, scopes, ifMatch: request.ifMatch };
    const decide = (state: typeof oauthClient.initial) => changeOAuthClient(state, change);
    const loaded = await loadAggregate(ports.events, oauthClient, id);
    decide(loaded.state);
    await context.claim('req');
    const { position } = await decideAndAppend(writer, author, oauthClient, { id, decide, loaded });
    await answerWhenKnown(context, position);
    return describeOAuthClient(clientIn(context, id));
  },
});

const DeleteInput = z.strictObject({ oauth_client_id: ClientIdField });

export const deleteOAuthClient = defineCapability<z.output<typeof DeleteInput>, Nothing>({
  name: 'delete_oauth_client',
  title: 'Delete an OAuth client',
  summary: 'Deletes an application of the organisation, or withdraws its approval.',
  description: 'Every connection of the organisation to it ends at once.',
  effect: 'write',
  access: ACCESS,
  rest: { method: 'delete', path: '/org/oauth-clients/:oauth_client_id', status: 204 },
  tool: null,
  idempotency: { kind: 'claim', replay: replayNothing },
  input: DeleteInput,
  output: Nothing,
  handle: async ({ oauth_client_id: id }, context) => {
    const { ports, writer, author } = context;
    const entry = clientIn(context, id);
    await context.claim('req');
    // Before the deletion, so that a repeat still finds the application when the process dies in between.
    await endConnectionsTo(context, entry);
    const { position } = await decideAndAppend(writer, author, oauthClient, { id, decide: decideDeletion });
    await answerWhenKnown(context, position);
    // What somebody allowed meanwhile.
    await endConnectionsTo(context, entry);
    await ports.personal.erase(id);
    return {};
  },
});

async function endConnectionsTo(
  context: Context,
  { orgId, clientId }: Pick<OAuthClientEntry, 'orgId' | 'clientId'>,
): Promise<void> {
  const { ports, author } = context;
  const entries = [...ports.directory.state.oauthGrants.values()].filter(
    (entry) => entry.orgId === orgId && entry.clientId === clientId && entry.revokedAt === null,
  );
  context.notePosition(await endConnections(ports, author, { entries, reason: 'client_deleted' }));
}
