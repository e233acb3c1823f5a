/** Which applications the members of an organisation may connect, and how much each may be allowed. Pure. */
import type { AskingClient } from '../ports/authorization-server.ts';
import type { DirectoryState, OAuthClientEntry } from '../ports/directory.ts';
import type { Scope } from '../values/scopes.ts';

/** The entry by which an organisation registered or approved an application. */
export const entryFor = (
  { oauthClients }: Pick<DirectoryState, 'oauthClients'>,
  orgId: string,
  clientId: string,
): OAuthClientEntry | null =>
  [...oauthClients.values()].find((entry) => entry.orgId === orgId && entry.clientId === clientId) ?? null;

/** Why a member may not connect it here; null when they may. */
export function whyNot(
  state: Pick<DirectoryState, 'oauthClients' | 'organisations'>,
  orgId: string,
  { id, kind }: AskingClient,
): string | null {
  const entry = entryFor(state, orgId, id);
  const { oauthClients: rule = 'any' } = state.organisations.get(orgId) ?? {};
  if (entry?.isRegistered === true) return null;
  if (kind === 'registered')
    return 'Another organisation registered this application; switch to that organisation first.';
  if (rule === 'registered')
    return 'This organisation allows only applications that it registered itself. Ask an owner to register it.';
  if (rule === 'approved' && entry === null)
    return `This organisation allows only applications that an owner approved. Ask an owner to approve the client id ${id}.`;
  return null;
}

/** What the organisation lets it be allowed, of `asked`. */
export const withinLimit = (
  state: Pick<DirectoryState, 'oauthClients'>,
  orgId: string,
  { clientId, asked }: { readonly clientId: string; readonly asked: readonly Scope[] },
): readonly Scope[] => {
  const limit = entryFor(state, orgId, clientId)?.scopes ?? null;
  return limit === null ? asked : asked.filter((scope) => limit.includes(scope));
};
