/** A person allows an application to act in their name, or does not. Only this decides (`contract.md` 18). */
import { z } from 'zod';
import { answerWhenKnown, type Context, defineCapability } from '../kernel/capability.ts';
import { decideAndAppend, loadAggregate } from '../kernel/decide-and-append.ts';
import { allMembershipsOf } from '../kernel/membership.ts';
import type { AuthorizationRequest } from '../ports/authorization-server.ts';
import { requestMail } from '../system-mail/system-mail.ts';
import { GatewayError, invalidField, notFound } from '../values/errors.ts';
import { uuidToId, uuidV5 } from '../values/ids.ts';
import { chosenScopes, type Scope, SCOPES } from '../values/scopes.ts';
import { whyNot, withinLimit } from './allowed-clients.ts';
import { endConnections } from './connections.ts';
import { giveOAuthGrant, oauthGrant, type OAuthGrantTerms } from './oauth-grant.ts';

const DAY_MS = 24 * 60 * 60 * 1_000;
/** The longest lifetime of a permission, as of a token. */
export const MOST_DAYS = 365;
export const DEFAULT_DAYS = 30;

export const ConsentTokenField = z
  .string()
  .min(1)
  .max(200)
  .describe('From GET /oauth/authorize/<id>/interaction, in the browser that the application opened.');

const Input = z.strictObject({
  consent_token: ConsentTokenField,
  org_id: z
    .string()
    .min(1)
    .max(64)
    .describe('The organisation that was shown; it must be that of the session.'),
  decision: z.enum(['allow', 'deny']),
  scopes: z
    .array(z.enum(SCOPES))
    .min(1)
    .max(SCOPES.length)
    .optional()
    .describe('To allow: at most what was offered.'),
  mailbox_ids: z
    .array(z.string().min(1).max(64))
    .min(1)
    .max(1_000)
    .nullable()
    .optional()
    .describe(
      'To allow: some of your mailboxes; null = every one that you have a grant on, also later ones.',
    ),
  expires_in_days: z
    .int()
    .min(1)
    .max(MOST_DAYS)
    .optional()
    .describe(`To allow; ${String(DEFAULT_DAYS)} when absent.`),
});
type Input = z.output<typeof Input>;

const Decided = z.object({
  redirect_to: z.string().describe('Open it in the same browser: it takes the answer to the application.'),
  connected_application_id: z.string().nullable(),
});
type Decided = z.output<typeof Decided>;

export const decideAuthorizationRequest = defineCapability<Input, Decided>({
  name: 'decide_authorization_request',
  title: 'Allow or refuse an application',
  summary: 'Connects the application that waits for your decision, or refuses it.',
  description:
    'Lets an application read and act on mail in your name, within the scopes, mailboxes and time you choose, never beyond your ' +
    'own rights and never to decide approvals. Ends with DELETE /org/connected-applications/<id>.',
  effect: 'write',
  access: 'stepped-up-session',
  rest: { method: 'post', path: '/auth/authorization-requests' },
  tool: null,
  // The same decision again answers the same, with the lifetime that the first one gave; another one is refused.
  idempotency: { kind: 'none' },
  input: Input,
  output: Decided,
  handle: async (input, context) => {
    const request = await requestOf(context, input);
    if (input.decision === 'deny') {
      const denied = await settle(context, request, null);
      await endOthers(context, request, null);
      return denied;
    }
    if (request.decision === 'denied') throw decidedOtherwise();
    const orgId = context.caller.org.id;
    const id = grantIdOf(orgId, request);
    const terms = termsOf(context, request, input);
    const { position, appended } = await decideAndAppend(context.writer, context.author, oauthGrant, {
      id,
      decide: (state) => giveOAuthGrant(state, terms),
    });
    await answerWhenKnown(context, position);
    try {
      const decided = await settle(context, request, { id, scopes: terms.scopes });
      await endOthers(context, request, id);
      await tell(context, id);
      return decided;
    } catch (error) {
      // It was decided otherwise, or is over: no application will ever hold what was just given.
      if (appended !== null && error instanceof GatewayError && error.code === 'conflict')
        await endConnections(context.ports, context.author, { entries: [{ id, orgId }], reason: 'revoked' });
      throw error;
    }
  },
});

/** Throws `not_found`, and `conflict` in another organisation than the one that was shown. */
async function requestOf(
  { ports, caller }: Context,
  { consent_token, org_id }: Input,
): Promise<AuthorizationRequest> {
  const request = await ports.authorizationRequests.find(consent_token);
  if (request === null) throw notFound('request of an application; begin again in the application');
  if (org_id !== caller.org.id)
    throw new GatewayError('conflict', 'You are in another organisation now; look at the request again.');
  return request;
}

/** Throws `conflict` when the organisation does not allow it, `insufficient_scope`, `invalid_request`, `not_found`. */
function termsOf({ ports, caller }: Context, request: AuthorizationRequest, input: Input): OAuthGrantTerms {
  const { state } = ports.directory;
  const { client } = request;
  const refusal = whyNot(state, caller.org.id, client);
  if (refusal !== null) throw new GatewayError('conflict', refusal);
  const { mailbox_ids: mailboxIds, expires_in_days: days = DEFAULT_DAYS } = input;
  if (mailboxIds === undefined) throw invalidField('mailbox_ids', 'Choose mailboxes, or null for all.');
  for (const id of mailboxIds ?? []) if (!caller.mailboxes.has(id)) throw notFound('mailbox');
  if (input.scopes === undefined) throw invalidField('scopes', 'Choose what it may do.');
  return {
    user_id: caller.principal.id,
    client_id: client.id,
    client_name: client.name ?? '',
    client_kind: client.kind,
    redirect_uri: client.redirectUri,
    scopes: [
      ...chosenScopes({ scopes: input.scopes }, offeredScopes(ports.directory.state, caller, request)),
    ],
    mailbox_ids: mailboxIds && [...new Set(mailboxIds)],
    expires_at: new Date(ports.clock.now().getTime() + days * DAY_MS).toISOString(),
  };
}

/** What the person can allow: asked for, within the organisation's limit, and held somewhere by the person. */
export const offeredScopes = (
  state: Context['ports']['directory']['state'],
  caller: Context['caller'],
  { client, scopes }: AuthorizationRequest,
): readonly Scope[] =>
  withinLimit(state, caller.org.id, { clientId: client.id, asked: scopes }).filter((scope) =>
    caller.scopes.has(scope),
  );

const decidedOtherwise = (): GatewayError =>
  new GatewayError(
    'conflict',
    'This request was decided otherwise, or it is over; begin again in the application.',
  );

async function settle(
  { ports, caller }: Context,
  request: AuthorizationRequest,
  grant: { readonly id: string; readonly scopes: readonly Scope[] } | null,
): Promise<Decided> {
  const redirectTo = await ports.authorizationRequests.decide(
    request.id,
    grant === null
      ? { allowed: false }
      : { allowed: true, userId: caller.principal.id, grantId: grant.id, scopes: grant.scopes },
  );
  if (redirectTo === null) throw decidedOtherwise();
  return { redirect_to: redirectTo, connected_application_id: grant?.id ?? null };
}

const grantIdOf = (orgId: string, { id }: AuthorizationRequest): string =>
  uuidToId('oag', uuidV5('oauth_grant', orgId, id));

/** Ends what the person gave before a process died, in any organisation, and then decided otherwise: nothing will ever hold it. */
async function endOthers(
  context: Context,
  request: AuthorizationRequest,
  keptId: string | null,
): Promise<void> {
  const { ports, caller, author } = context;
  const entries: { id: string; orgId: string }[] = [];
  for (const { orgId } of allMembershipsOf(ports.directory.state, caller.principal.id)) {
    const id = grantIdOf(orgId, request);
    if (id === keptId) continue;
    // From the log: it may be another process that died.
    const { state } = await loadAggregate(ports.events, oauthGrant, id);
    if (state.terms !== null && state.end === null) entries.push({ id, orgId });
  }
  if (entries.length === 0) return;
  context.notePosition(await endConnections(ports, author, { entries, reason: 'revoked' }));
}

/** The person learns of it, in case it was somebody else at their browser. A repeat is the same mail. */
const tell = async ({ writer, author, caller }: Context, grantId: string): Promise<void> => {
  await requestMail(writer, author, uuidV5('application_connected', grantId), {
    kind: 'application_connected',
    user_id: caller.principal.id,
    to: null,
    oauth_grant_id: grantId,
  });
};
