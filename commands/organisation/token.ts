/** A token: who may call with it, how far, and until when. The secret itself is never stored. */
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
import { GatewayError, notFound } from '../values/errors.ts';

export const TokenIssued = defineEvent({
  type: 'TokenIssued',
  publicName: 'token.issued',
  summary: 'A token was issued to a principal.',
  data: z.object({
    principal_id: z.string(),
    principal_kind: principalKind,
    name: z.string(),
    surface: z.enum(['rest', 'mcp']),
    scopes: scopeList,
    mailbox_ids: z.array(z.string()).nullable(),
    expires_at: instant,
    /** SHA-256 of a REST token; null for a JWT, which is checked by its signature. */
    secret_hash: sealedVerifier.nullable(),
  }),
  upcasters: [verifierInClear],
});

export const TokenRevoked = defineEvent({
  type: 'TokenRevoked',
  publicName: 'token.revoked',
  webhook: {
    types: { 'token.revoked': z.object({ token_id: z.string() }) },
    notify: ({ subject }) => [
      { type: 'token.revoked', data: { token_id: subject }, mailboxId: null, folders: null },
    ],
  },
  summary: 'A token was revoked; requests with it are refused.',
  data: z.object({}),
});

export const tokenEvents = [TokenIssued, TokenRevoked] as const;
type TokenEvent = (typeof tokenEvents)[number];
export type TokenTerms = z.output<typeof TokenIssued.data>;

export interface TokenState {
  readonly terms: TokenTerms | null;
  readonly revoked: boolean;
}

export const token: Aggregate<TokenState, TokenEvent> = {
  category: 'token',
  catalogue: catalogueOf(tokenEvents),
  initial: { terms: null, revoked: false },
  evolve: (state, fact: PastFact<TokenEvent>) =>
    fact.type === 'TokenIssued' ? { ...state, terms: fact.data } : { ...state, revoked: true },
};

/** Refuses when the id was issued before: a token's secret is told once. */
export function issueToken(state: TokenState, terms: TokenTerms): readonly Fact<TokenEvent>[] {
  if (state.terms !== null) throw new GatewayError('conflict', 'This token was issued already.');
  return [{ type: 'TokenIssued', data: terms }];
}

/** A token that is revoked already stays as it is. */
export function revokeToken(state: TokenState): readonly Fact<TokenEvent>[] {
  if (state.terms === null) throw notFound('token');
  return state.revoked ? [] : [{ type: 'TokenRevoked', data: {} }];
}
