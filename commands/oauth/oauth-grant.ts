/**
 * An OAuth grant: what a person allowed an application to do in their name (RFC 6749 1.3). It has no secret: the tokens that
 * the authorization server issues under it name it, and its rights are read at each request.
 */
import { z } from 'zod';
import type { Aggregate } from '../kernel/decide-and-append.ts';
import { OAUTH_CLIENT_KINDS } from '../ports/directory.ts';
import { catalogueOf, defineEvent, type Fact, type PastFact } from '../values/event.ts';
import { instant, scopeList } from '../values/event-fields.ts';
import { GatewayError, notFound } from '../values/errors.ts';
import { isMailboxScope, type Scope, SCOPES } from '../values/scopes.ts';

/** The most that an application may hold (`contract.md` 20). */
export const GRANTABLE_SCOPES: readonly Scope[] = SCOPES.filter(
  (scope) => isMailboxScope(scope) || scope === 'mailboxes:read' || scope === 'approvals:read',
);

export const GRANT_ENDS = [
  'revoked',
  'revoked_by_application',
  'code_reused',
  'refresh_token_reused',
  'client_deleted',
  'member_removed',
  'organisation_deleted',
  'account_erased',
] as const;
export type GrantEnd = (typeof GRANT_ENDS)[number];

const GrantId = z.string().describe('The connection, an OAuth grant.');
const UserId = z.string().describe('The person who allowed it.');

const OAuthGrantGiven = defineEvent({
  type: 'OAuthGrantGiven',
  summary: 'A person allowed an application to act in their name.',
  data: z.object({
    user_id: z.string(),
    client_id: z.string(),
    client_name: z.string(),
    client_kind: z.enum(OAUTH_CLIENT_KINDS),
    redirect_uri: z.string(),
    scopes: scopeList,
    /** Null = every mailbox that the person has a grant on, also later ones. */
    mailbox_ids: z.array(z.string()).nullable(),
    expires_at: instant,
  }),
  webhook: {
    type: 'application.connected',
    data: z.object({
      oauth_grant_id: GrantId,
      user_id: UserId,
      client_id: z.string().describe('The application.'),
      client_name: z.string().describe('The name that the application gives itself.'),
      scopes: z.array(z.string()).describe('What it may do at most.'),
      mailbox_ids: z
        .array(z.string())
        .nullable()
        .describe('The mailboxes it is limited to; null = no limit.'),
      expires_at: instant.describe('When it ends.'),
    }),
    adds: ({ subject }) => ({ oauth_grant_id: subject }),
  },
});

const OAuthGrantEnded = defineEvent({
  type: 'OAuthGrantEnded',
  summary: 'An application may no longer act in the name of a person; its tokens are refused.',
  data: z.object({ user_id: z.string(), client_id: z.string(), reason: z.enum(GRANT_ENDS) }),
  webhook: {
    type: 'application.disconnected',
    data: z.object({
      oauth_grant_id: GrantId,
      user_id: UserId,
      client_id: z.string().describe('The application.'),
      reason: z.enum(GRANT_ENDS).describe('Why it ended.'),
    }),
    adds: ({ subject }) => ({ oauth_grant_id: subject }),
    // It ends once: what follows in its stream forgets a grant that has ended.
    isTold: ({ revision }) => revision === 1n,
  },
});

export const oauthGrantEvents = [OAuthGrantGiven, OAuthGrantEnded] as const;
type OAuthGrantEvent = (typeof oauthGrantEvents)[number];
export type OAuthGrantTerms = z.output<typeof OAuthGrantGiven.data>;

interface OAuthGrantState {
  readonly terms: OAuthGrantTerms | null;
  /** Why it ended, last; null until then. */
  readonly end: GrantEnd | null;
}

export const oauthGrant: Aggregate<OAuthGrantState, OAuthGrantEvent> = {
  category: 'oauthGrant',
  catalogue: catalogueOf(oauthGrantEvents),
  initial: { terms: null, end: null },
  evolve: (state, fact: PastFact<OAuthGrantEvent>) =>
    fact.type === 'OAuthGrantGiven' ? { ...state, terms: fact.data } : { ...state, end: fact.data.reason },
};

/**
 * The id belongs to one request of an application in one organisation: repeating the same decision adds nothing, and the end
 * of the first one stays, whatever the repeat says. Another one is `conflict`.
 */
export function giveOAuthGrant(
  state: OAuthGrantState,
  terms: OAuthGrantTerms,
): readonly Fact<OAuthGrantEvent>[] {
  if (state.terms === null) return [{ type: 'OAuthGrantGiven', data: terms }];
  const isSame = same(state.terms, terms) && state.end === null;
  if (!isSame)
    throw new GatewayError('conflict', 'This request was decided already; begin in the application again.');
  return [];
}

/** Equal but for the end, which is counted from the moment of each request: another lifetime makes no other decision. */
const same = (a: OAuthGrantTerms, b: OAuthGrantTerms): boolean =>
  JSON.stringify({ ...a, expires_at: null }) === JSON.stringify({ ...b, expires_at: null });

/** Adds nothing for one that has ended. Throws `not_found`. */
export function endOAuthGrant(state: OAuthGrantState, reason: GrantEnd): readonly Fact<OAuthGrantEvent>[] {
  return state.end !== null ? [] : ended(state, reason);
}

/** For the grants of an erased account, also those that have ended. Adds nothing when it was forgotten. Throws `not_found`. */
export const forgetOAuthGrant = (state: OAuthGrantState): readonly Fact<OAuthGrantEvent>[] =>
  state.end === 'account_erased' ? [] : ended(state, 'account_erased');

function ended({ terms }: OAuthGrantState, reason: GrantEnd): readonly Fact<OAuthGrantEvent>[] {
  if (terms === null) throw notFound('connected application');
  const { user_id, client_id } = terms;
  return [{ type: 'OAuthGrantEnded', data: { user_id, client_id, reason } }];
}
