/** How events of OAuth grants and clients change the directory. Pure except for opening sealed texts. */
import type { AnyEvent } from '../commands/event-catalogue.ts';
import type { OAuthClientEntry, OAuthGrantEntry } from '../commands/ports/directory.ts';
import type { PastFact } from '../commands/values/event.ts';
import {
  type DirectoryChange,
  type DirectoryEvent,
  type LookUp,
  NOTHING,
  put,
} from './directory-entities.ts';
import type { Open } from './projection.ts';

type FactOf<Type extends AnyEvent['type']> = Extract<PastFact<AnyEvent>, { readonly type: Type }>;

export function oauthGrantChanges(
  id: string,
  { fact, position }: DirectoryEvent,
  lookUp: LookUp,
): DirectoryChange {
  if (fact.type === 'OAuthGrantGiven')
    return put({ kind: 'oauthGrant', value: given(id, fact, String(position)) });
  const before = lookUp('oauthGrant', id);
  if (fact.type !== 'OAuthGrantEnded' || !before) return NOTHING;
  // Nothing of an erased account stays.
  if (fact.data.reason === 'account_erased') return { put: [], remove: [{ kind: 'oauthGrant', id }] };
  return put({ kind: 'oauthGrant', value: { ...before, revokedAt: fact.meta.occurred_at } });
}

const given = (id: string, { data, meta }: FactOf<'OAuthGrantGiven'>, position: string): OAuthGrantEntry => ({
  id,
  orgId: meta.org_id ?? '',
  principalId: data.user_id,
  principalKind: 'user',
  name: data.client_name,
  surface: 'mcp',
  scopes: data.scopes,
  mailboxIds: data.mailbox_ids,
  expiresAt: data.expires_at,
  createdAt: meta.occurred_at,
  position,
  createdBy: data.user_id,
  revokedAt: null,
  secretHash: null,
  clientId: data.client_id,
  clientKind: data.client_kind,
  redirectUri: data.redirect_uri,
});

/** An application that registered itself belongs to no organisation and is not in the directory. */
export async function oauthClientChanges(
  id: string,
  { fact }: DirectoryEvent,
  lookUp: LookUp,
  open: Open,
): Promise<DirectoryChange> {
  if (fact.type === 'OAuthClientRegistered')
    return put({ kind: 'oauthClient', value: await registered(id, fact, open) });
  const before = lookUp('oauthClient', id);
  if (!before) return NOTHING;
  if (fact.type === 'OAuthClientDeleted') return { put: [], remove: [{ kind: 'oauthClient', id }] };
  if (fact.type !== 'OAuthClientChanged') return NOTHING;
  const { name = before.name, redirect_uris: redirectUris = before.redirectUris } = fact.data;
  const { scopes = before.scopes } = fact.data;
  const value = { ...before, name, redirectUris, scopes, version: before.version + 1 };
  return put({ kind: 'oauthClient', value });
}

const registered = async (
  id: string,
  { data, meta }: FactOf<'OAuthClientRegistered'>,
  open: Open,
): Promise<OAuthClientEntry> => ({
  id,
  orgId: meta.org_id ?? '',
  clientId: data.client_id ?? id,
  isRegistered: data.client_id === null,
  name: data.name,
  redirectUris: data.redirect_uris,
  scopes: data.scopes,
  // A secret that cannot be read matches nothing.
  secretHash: data.secret_hash === null ? null : ((await open(data.secret_hash)) ?? ''),
  createdAt: meta.occurred_at,
  createdBy: meta.actor.id,
  version: 1,
});
