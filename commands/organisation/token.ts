/** A token: its principal, its rights and its expiry. The secret is never stored. */
import { z } from 'zod';
import type { Aggregate } from '../kernel/decide-and-append.ts';
import { catalogueOf, defineEvent, type Fact, type PastFact } from '../values/event.ts';
import {
  instant,
  principalKind,
  scopeList,
  sealedVerifier,
  verifierInClear,
} from '../values/event-fields.ts';
import { GatewayError, invalidField, notFound } from '../values/errors.ts';
import type { Ports } from '../ports/ports.ts';
import type { Scope } from '../values/scopes.ts';

const TokenId = z.string().describe('The token.');

const TokenIssued = defineEvent({
  type: 'TokenIssued',
  summary: 'A token was issued to a principal.',
  data: z.object({
    principal_id: z.string(),
    principal_kind: principalKind,
    name: z.string(),
    surface: z.enum(['rest', 'mcp']),
    scopes: scopeList,
    mailbox_ids: z.array(z.string()).nullable(),
    expires_at: instant,
    /** SHA-256 of a REST token; null for a JWT, which is verified by its signature. */
    secret_hash: sealedVerifier.nullable(),
  }),
  upcasters: [verifierInClear],
  webhook: {
    type: 'token.issued',
    data: z.object({
      token_id: TokenId,
      principal_id: z.string().describe('The person or agent that calls with it.'),
      principal_kind: principalKind.describe('What it is.'),
      surface: z.enum(['rest', 'mcp']).describe('Where it can be used.'),
      scopes: z.array(z.string()).describe('What it may do at most.'),
      mailbox_ids: z
        .array(z.string())
        .nullable()
        .describe('The mailboxes it is limited to; null = no limit.'),
      expires_at: instant.describe('When it ends.'),
    }),
    adds: ({ subject }) => ({ token_id: subject }),
  },
});

const TokenRevoked = defineEvent({
  type: 'TokenRevoked',
  summary: 'A token was revoked; requests with it are refused.',
  data: z.object({}),
  webhook: {
    type: 'token.revoked',
    data: z.object({ token_id: TokenId }),
    adds: ({ subject }) => ({
      token_id: subject,
    }),
  },
});

const TokenChanged = defineEvent({
  type: 'TokenChanged',
  summary: 'A token was renamed, or set to expire earlier.',
  data: z.object({ name: z.string().optional(), expires_at: instant.optional() }),
  webhook: null,
});

const TokenForgotten = defineEvent({
  type: 'TokenForgotten',
  summary: 'A token of an erased account was removed from the list of tokens; requests with it are refused.',
  data: z.object({}),
  webhook: null,
});

export const tokenEvents = [TokenIssued, TokenChanged, TokenRevoked, TokenForgotten] as const;
type TokenEvent = (typeof tokenEvents)[number];
type TokenTerms = z.output<typeof TokenIssued.data>;

interface TokenState {
  readonly terms: TokenTerms | null;
  readonly revoked: boolean;
  readonly forgotten: boolean;
}

export const token: Aggregate<TokenState, TokenEvent> = {
  category: 'token',
  catalogue: catalogueOf(tokenEvents),
  initial: { terms: null, revoked: false, forgotten: false },
  evolve: (state, fact: PastFact<TokenEvent>) => {
    switch (fact.type) {
      case 'TokenIssued':
        return { ...state, terms: fact.data };
      case 'TokenChanged':
        return { ...state, terms: state.terms && changedTerms(state.terms, fact.data) };
      case 'TokenRevoked':
        return { ...state, revoked: true };
      case 'TokenForgotten':
        return { ...state, revoked: true, forgotten: true };
    }
  },
};

const changedTerms = (
  terms: TokenTerms,
  { name = terms.name, expires_at = terms.expires_at }: z.output<typeof TokenChanged.data>,
): TokenTerms => ({ ...terms, name, expires_at });

/** Refuses an id that was issued before: a token's secret is returned once. */
export function issueToken(state: TokenState, terms: TokenTerms): readonly Fact<TokenEvent>[] {
  if (state.terms !== null) throw new GatewayError('conflict', 'This token was issued already.');
  return [{ type: 'TokenIssued', data: terms }];
}

/** Adds nothing for a revoked token. */
export function revokeToken(state: TokenState): readonly Fact<TokenEvent>[] {
  if (state.terms === null) throw notFound('token');
  return state.revoked ? [] : [{ type: 'TokenRevoked', data: {} }];
}

/** Writes only what differs. Throws `conflict` for a revoked token, `invalid_request` for a later expiry. */
export function changeToken(
  state: TokenState,
  change: { readonly name?: string | undefined; readonly expiresAt?: string | undefined },
): readonly Fact<TokenEvent>[] {
  const { terms } = state;
  if (terms === null || state.forgotten) throw notFound('token');
  if (state.revoked) throw new GatewayError('conflict', 'This token is revoked.');
  const isRenamed = change.name !== undefined && change.name !== terms.name;
  const expiresAt = earlierEnd(terms, change.expiresAt);
  if (!isRenamed && expiresAt === null) return [];
  const data = {
    ...(isRenamed && { name: change.name }),
    ...(expiresAt !== null && { expires_at: expiresAt }),
  };
  return [{ type: 'TokenChanged', data }];
}

/** Null when it does not change. */
function earlierEnd({ expires_at }: TokenTerms, wanted: string | undefined): string | null {
  if (wanted === undefined || wanted === expires_at) return null;
  if (Date.parse(wanted) < Date.parse(expires_at)) return wanted;
  const message = 'A token can only be set to expire earlier; issue a new one instead.';
  throw invalidField('expires_at', message, 'too_big');
}

/** For the tokens of an erased account; one that is valid is revoked first. Adds nothing when it was forgotten. */
export function forgetToken(state: TokenState, now: Date): readonly Fact<TokenEvent>[] {
  if (state.terms === null) throw notFound('token');
  if (state.forgotten) return [];
  const isOver = Date.parse(state.terms.expires_at) <= now.getTime();
  return [...(isOver ? [] : revokeToken(state)), { type: 'TokenForgotten', data: {} }];
}

interface TokenRequest {
  readonly tokenId: string;
  readonly orgId: string;
  readonly principal: { readonly id: string; readonly kind: 'user' | 'agent' };
  readonly name: string;
  readonly surface: 'rest' | 'mcp';
  readonly scopes: readonly Scope[];
  readonly mailboxIds: readonly string[] | null;
  /** UTC with milliseconds. */
  readonly expiresAt: string;
}

interface MintedToken {
  readonly secret: string;
  readonly terms: TokenTerms;
}

/**
 * Makes the secret of a token, which is returned once and never stored, and the terms of its event. `rest`: opaque; its
 * hash is stored, sealed. `mcp`: a signed JWT, nothing of which is stored.
 */
export async function mintToken(
  ports: Pick<Ports, 'tokens' | 'clock' | 'personal'>,
  request: TokenRequest,
): Promise<MintedToken> {
  const { tokenId, orgId, principal, name, surface, scopes, mailboxIds, expiresAt } = request;
  const terms = {
    principal_id: principal.id,
    principal_kind: principal.kind,
    name,
    surface,
    scopes: [...scopes],
    mailbox_ids: mailboxIds && [...mailboxIds],
    expires_at: expiresAt,
  };
  if (surface === 'rest') {
    const { token, hash } = ports.tokens.newRestToken(orgId);
    return { secret: token, terms: { ...terms, secret_hash: await ports.personal.seal(principal.id, hash) } };
  }
  const secret = await ports.tokens.signAccessToken({
    tokenId,
    subject: principal.id,
    orgId,
    scopes,
    issuedAt: ports.clock.now(),
    expiresAt: new Date(expiresAt),
  });
  return { secret, terms: { ...terms, secret_hash: null } };
}
