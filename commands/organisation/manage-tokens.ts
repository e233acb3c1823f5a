/** POST /tokens: a token within the rights of the caller's token; a session may give all rights of its person. */
import { z } from 'zod';
import {
  answerWhenKnown,
  type Context,
  defineCapability,
  madeBefore,
  Nothing,
  replayNothing,
} from '../kernel/capability.ts';
import { futureInstant, InstantField, lineOfText } from '../values/input-fields.ts';
import { decideAndAppend, loadAggregate, streamOf } from '../kernel/decide-and-append.ts';
import { notFound } from '../values/errors.ts';
import { type Caller, managesEveryMailbox } from '../kernel/access.ts';
import { chosenScopes, PresetField, type Scope, SCOPES, SESSION_ONLY_SCOPES } from '../values/scopes.ts';
import { changeToken, issueToken, mintToken, revokeToken, token } from './token.ts';
import type { AgentEntry, DirectoryState, TokenEntry } from '../ports/directory.ts';

export const Token = z.object({
  id: z.string(),
  name: z.string(),
  principal: z.object({ id: z.string(), kind: z.enum(['user', 'agent']) }),
  scopes: z.array(z.string()),
  mailbox_ids: z.array(z.string()).nullable().describe('Null = every mailbox its principal has a grant on.'),
  surface: z.enum(['rest', 'mcp']),
  expires_at: z.string(),
  last_used_at: z.string().nullable().optional().describe('To the minute; null = never.'),
  created_by: z.string(),
  created_at: z.string(),
  status: z.enum(['active', 'expired', 'revoked']),
});
export type Token = z.output<typeof Token>;

/** The token in the directory, at `now`. */
export const describeToken = (entry: TokenEntry, now: Date): Token => ({
  id: entry.id,
  name: entry.name,
  principal: { id: entry.principalId, kind: entry.principalKind },
  scopes: [...entry.scopes],
  mailbox_ids: entry.mailboxIds && [...entry.mailboxIds],
  surface: entry.surface,
  expires_at: entry.expiresAt,
  created_by: entry.createdBy,
  created_at: entry.createdAt,
  status:
    entry.revokedAt !== null
      ? 'revoked'
      : Date.parse(entry.expiresAt) <= now.getTime()
        ? 'expired'
        : 'active',
});

const DAY_MS = 24 * 60 * 60 * 1_000;
/** The longest lifetime of a token (`contract.md` 2). */
const MAX_LIFE_MS = { rest: 365 * DAY_MS, mcp: 90 * DAY_MS } as const;

const Input = z.strictObject({
  name: lineOfText(100),
  principal_id: z.string().min(1).max(64).optional().describe('Yourself when absent, or an agent of yours.'),
  surface: z.enum(['rest', 'mcp']),
  scopes: z.array(z.enum(SCOPES)).min(1).max(SCOPES.length).optional(),
  preset: PresetField,
  mailbox_ids: z
    .array(z.string().min(1).max(64))
    .min(1)
    .max(500)
    .optional()
    .describe('Absent = as your own token, in a session all.'),
  expires_at: InstantField.describe(
    'At most a year from now, 90 days for mcp, and not later than your own token.',
  ),
});
type Input = z.output<typeof Input>;

const IssuedToken = Token.extend({
  token: z.string().optional().describe('The secret itself; shown once.'),
  secret_shown: z.boolean(),
});
type IssuedToken = z.output<typeof IssuedToken>;

export const createToken = defineCapability<Input, IssuedToken>({
  name: 'create_token',
  title: 'Issue a token',
  summary: 'Issues a token for yourself or one of your agents, within your own.',
  description:
    'Issues a token whose scopes, mailboxes and lifetime are within those of the requesting token. The secret is shown once, in this ' +
    'answer; a repeat with the same Idempotency-Key answers without it. A token gives `tokens:manage` to no other; a stepped-up ' +
    'session gives whatever its person holds.',
  effect: 'write',
  access: { any: ['tokens:manage'], freeInSession: true, steppedUp: true },
  rest: { method: 'post', path: '/tokens', status: 201, location: ({ id }) => `/tokens/${id}` },
  tool: null,
  idempotency: {
    kind: 'claim',
    replay: async (targetId, _, context) => {
      const entry = await madeBefore(context, streamOf(token, targetId), ({ tokens }) =>
        tokens.get(targetId),
      );
      return entry && { ...describeToken(entry, context.ports.clock.now()), secret_shown: false };
    },
  },
  input: Input,
  output: IssuedToken,
  handle: async (input, context) => {
    const { ports, writer, author } = context;
    const terms = termsWithin(context, input);
    const tokenId = await context.claim('tok');
    const minted = await mintToken(ports, { ...terms, tokenId, orgId: context.caller.org.id });
    const { position } = await decideAndAppend(writer, author, token, {
      id: tokenId,
      decide: (state) => issueToken(state, minted.terms),
    });
    await answerWhenKnown(context, position);
    const entry = ports.directory.state.tokens.get(tokenId);
    if (!entry) throw notFound('token');
    if (!isOwnPrincipal(context.caller, ports.directory.state, entry.principalId)) {
      // The agent was handed over or deleted meanwhile.
      await decideAndAppend(writer, author, token, { id: tokenId, decide: revokeToken });
      throw notFound('principal');
    }
    return { ...describeToken(entry, ports.clock.now()), token: minted.secret, secret_shown: true };
  },
});

/** The terms of the new token, bounded by the caller's. Throws `insufficient_scope`, `invalid_request`, `not_found`. */
function termsWithin(context: Context, input: Input) {
  const { caller, ports } = context;
  const now = ports.clock.now();
  // A token made in a session may outlive it; one made with a token ends with that token.
  const ownEnd = caller.session === null ? Date.parse(caller.token.expiresAt) : Infinity;
  const latest = Math.min(now.getTime() + MAX_LIFE_MS[input.surface], ownEnd);
  return {
    principal: principalOf(context, input.principal_id),
    name: input.name,
    surface: input.surface,
    scopes: chosenScopes(input, caller.token.scopes.filter(mayBePassedOn(caller))),
    mailboxIds: mailboxesWithin(context, input.mailbox_ids),
    expiresAt: futureInstant(input.expires_at, 'expires_at', now, new Date(latest)),
  };
}

const mayBePassedOn =
  ({ session }: Pick<Caller, 'session'>) =>
  (scope: Scope): boolean =>
    (session !== null || scope !== 'tokens:manage') && !SESSION_ONLY_SCOPES.includes(scope);

function principalOf(
  { caller, ports }: Context,
  id: string | undefined,
): { id: string; kind: 'user' | 'agent' } {
  const { state } = ports.directory;
  if (id === undefined || id === caller.principal.id) return caller.principal;
  if (!isOwnPrincipal(caller, state, id)) throw notFound('principal');
  return { id, kind: 'agent' };
}

/** Throws `not_found` for a mailbox outside the caller's token. */
function mailboxesWithin(
  { caller, ports }: Context,
  ids: readonly string[] | undefined,
): readonly string[] | null {
  if (ids === undefined) return caller.token.mailboxIds;
  for (const id of ids) {
    const ofOrg = ports.directory.state.mailboxes.get(id)?.orgId === caller.org.id;
    if (!caller.mailboxes.has(id) && !(ofOrg && managesEveryMailbox(caller))) throw notFound('mailbox');
  }
  return [...new Set(ids)];
}

/** True for the tokens and agents that a caller manages: its own and its agents'; for owners and admins, all of the organisation. */
const managesOrganisation = ({ role }: Caller): boolean => role === 'owner' || role === 'admin';

/** True for the caller itself and for an agent it owns. */
const isOwnPrincipal = (caller: Caller, state: DirectoryState, principalId: string): boolean =>
  principalId === caller.principal.id ||
  (state.agents.get(principalId)?.ownerId === caller.principal.id &&
    state.agents.get(principalId)?.orgId === caller.org.id);

export const managesToken = (caller: Caller, state: DirectoryState, token: TokenEntry): boolean =>
  token.orgId === caller.org.id &&
  (managesOrganisation(caller) || isOwnPrincipal(caller, state, token.principalId));

export const managesAgent = (caller: Caller, agent: AgentEntry): boolean =>
  agent.orgId === caller.org.id && (managesOrganisation(caller) || agent.ownerId === caller.principal.id);

/** A token that the caller manages. Throws `not_found`. */
export function tokenIn({ caller, ports }: Context, tokenId: string): TokenEntry {
  const { state } = ports.directory;
  const entry = state.tokens.get(tokenId);
  if (!entry || !managesToken(caller, state, entry)) throw notFound('token');
  return entry;
}

const UpdateInput = z.strictObject({
  token_id: z.string().min(1).max(64),
  name: lineOfText(100).optional(),
  expires_at: InstantField.optional().describe('Earlier than now set; for a later end issue a new token.'),
});

export const updateToken = defineCapability<z.output<typeof UpdateInput>, Token>({
  name: 'update_token',
  title: 'Change a token',
  summary: 'Renames a token, or sets it to expire earlier.',
  description:
    'Renames a token or sets it to expire earlier. Its scopes and mailboxes never change, and it never lives longer: issue a ' +
    'new one for that.',
  effect: 'write',
  access: { any: ['tokens:manage'], freeInSession: true },
  rest: { method: 'patch', path: '/tokens/:token_id' },
  tool: null,
  idempotency: {
    kind: 'claim',
    replay: (_, { token_id }, context, settled) =>
      Promise.resolve(settled ? describeToken(tokenIn(context, token_id), context.ports.clock.now()) : null),
  },
  input: UpdateInput,
  output: Token,
  handle: async ({ token_id: id, name, expires_at }, context) => {
    const { ports, writer, author } = context;
    tokenIn(context, id);
    const now = ports.clock.now();
    const expiresAt = expires_at === undefined ? undefined : futureInstant(expires_at, 'expires_at', now);
    const decide = (state: typeof token.initial) => changeToken(state, { name, expiresAt });
    const loaded = await loadAggregate(ports.events, token, id);
    decide(loaded.state);
    await context.claim('req');
    const { position } = await decideAndAppend(writer, author, token, { id, decide, loaded });
    await answerWhenKnown(context, position);
    return describeToken(tokenIn(context, id), now);
  },
});

/** DELETE /tokens/:token_id: revokes a token. */
const WithdrawInput = z.strictObject({ token_id: z.string().min(1).max(64) });

export const deleteToken = defineCapability<z.output<typeof WithdrawInput>, Nothing>({
  name: 'delete_token',
  title: 'Revoke a token',
  summary:
    'Revokes a token of yours or of your agents; owners and admins may revoke any in the organisation.',
  description: 'Revokes a token, also the one of this request: every later request with it is refused.',
  effect: 'write',
  access: { any: ['tokens:manage'], freeInSession: true },
  rest: { method: 'delete', path: '/tokens/:token_id', status: 204 },
  tool: null,
  idempotency: { kind: 'claim', replay: replayNothing },
  input: WithdrawInput,
  output: Nothing,
  handle: async ({ token_id }, context) => {
    const { writer, author } = context;
    tokenIn(context, token_id);
    await context.claim('req');
    const { position } = await decideAndAppend(writer, author, token, { id: token_id, decide: revokeToken });
    await answerWhenKnown(context, position);
    return {};
  },
});
