/**
 * OAuth clients (RFC 6749 2): those an organisation registered, those it approved, and those that registered themselves
 * (RFC 7591). The metadata of the last kind is kept by the authorization server; here is only that it happened.
 */
import { z } from 'zod';
import type { Aggregate } from '../kernel/decide-and-append.ts';
import { catalogueOf, defineEvent, type Fact, type PastFact } from '../values/event.ts';
import { scopeList, sealedText } from '../values/event-fields.ts';
import { GatewayError, notFound } from '../values/errors.ts';
import type { Scope } from '../values/scopes.ts';

const OAuthClientRegistered = defineEvent({
  type: 'OAuthClientRegistered',
  summary: 'An organisation registered an application, or approved one that is known by its own id.',
  data: z.object({
    /** Null = the id of this object; otherwise the address of its metadata, or the id it got by registering itself. */
    client_id: z.string().nullable(),
    name: z.string(),
    /** Empty for an approved one: it has its own. */
    redirect_uris: z.array(z.string()),
    /** The most that a person may allow it; null = no limit of its own. */
    scopes: scopeList.nullable(),
    /** SHA-256 of the secret, sealed under the id of the client; null for a public client. */
    secret_hash: sealedText.nullable(),
  }),
  webhook: null,
});

const OAuthClientChanged = defineEvent({
  type: 'OAuthClientChanged',
  summary: 'An application of an organisation got another name, other redirect addresses or other scopes.',
  data: z.object({
    name: z.string().optional(),
    redirect_uris: z.array(z.string()).optional(),
    scopes: scopeList.nullable().optional(),
  }),
  webhook: null,
});

const OAuthClientDeleted = defineEvent({
  type: 'OAuthClientDeleted',
  summary: 'An application was deleted, or its approval was withdrawn; its connections have ended.',
  data: z.object({}),
  webhook: null,
});

const OAuthClientSelfRegistered = defineEvent({
  type: 'OAuthClientSelfRegistered',
  summary: 'An application registered itself (RFC 7591). Its name is not verified.',
  data: z.object({ name: z.string(), redirect_uris: z.array(z.string()) }),
  webhook: null,
});

export const oauthClientEvents = [
  OAuthClientRegistered,
  OAuthClientChanged,
  OAuthClientDeleted,
  OAuthClientSelfRegistered,
] as const;
type OAuthClientEvent = (typeof oauthClientEvents)[number];
type Facts = readonly Fact<OAuthClientEvent>[];
export type OAuthClientTerms = z.output<typeof OAuthClientRegistered.data>;
type OAuthClientChange = z.output<typeof OAuthClientChanged.data>;

interface AskedChange {
  readonly name?: string | undefined;
  readonly redirect_uris?: string[] | undefined;
  readonly scopes?: Scope[] | null | undefined;
  /** The version it is based on; null = any. */
  readonly ifMatch?: string | null;
}

interface OAuthClientState {
  readonly terms: OAuthClientTerms | null;
  readonly deleted: boolean;
  readonly selfRegistered: boolean;
  /** Number of events: the ETag. */
  readonly version: number;
}

export const oauthClient: Aggregate<OAuthClientState, OAuthClientEvent> = {
  category: 'oauthClient',
  catalogue: catalogueOf(oauthClientEvents),
  initial: { terms: null, deleted: false, selfRegistered: false, version: 0 },
  evolve: (before, fact: PastFact<OAuthClientEvent>) => {
    const state = { ...before, version: before.version + 1 };
    switch (fact.type) {
      case 'OAuthClientRegistered':
        return { ...state, terms: fact.data };
      case 'OAuthClientChanged':
        return { ...state, terms: state.terms && { ...state.terms, ...sentOf(fact.data) } };
      case 'OAuthClientDeleted':
        return { ...state, deleted: true };
      case 'OAuthClientSelfRegistered':
        return { ...state, selfRegistered: true };
    }
  },
};

/** Only the fields that were sent. */
const sentOf = ({ name, redirect_uris, scopes }: OAuthClientChange | AskedChange) => ({
  ...(name !== undefined && { name }),
  ...(redirect_uris !== undefined && { redirect_uris }),
  ...(scopes !== undefined && { scopes }),
});

/** Refuses an id that was used before: a secret is returned once. */
export function registerOAuthClient(state: OAuthClientState, terms: OAuthClientTerms): Facts {
  if (state.terms !== null || state.selfRegistered)
    throw new GatewayError('conflict', 'This application was registered already.');
  return [{ type: 'OAuthClientRegistered', data: terms }];
}

/** Adds nothing when nothing differs. Throws `not_found`, `version_conflict`. */
export function changeOAuthClient(state: OAuthClientState, change: AskedChange): Facts {
  const { terms, deleted } = state;
  if (terms === null || deleted) throw notFound('OAuth client');
  assertVersion(state, change.ifMatch ?? null);
  const data = sentOf(change);
  if (JSON.stringify({ ...terms, ...data }) === JSON.stringify(terms)) return [];
  return [{ type: 'OAuthClientChanged', data }];
}

function assertVersion({ version }: OAuthClientState, ifMatch: string | null): void {
  if (ifMatch === null || ifMatch === '*' || ifMatch === String(version)) return;
  const message = 'The application changed since the version in If-Match; read it again.';
  throw new GatewayError('version_conflict', message, { details: { version } });
}

/** Adds nothing when it was deleted. Throws `not_found`. */
export function deleteOAuthClient(state: OAuthClientState): Facts {
  if (state.terms === null) throw notFound('OAuth client');
  return state.deleted ? [] : [{ type: 'OAuthClientDeleted', data: {} }];
}

/** Adds nothing when the id was registered already. */
export const selfRegisterOAuthClient = (
  state: OAuthClientState,
  data: z.output<typeof OAuthClientSelfRegistered.data>,
): Facts => (state.selfRegistered ? [] : [{ type: 'OAuthClientSelfRegistered', data }]);
