/** The OAuth grants of an organisation that count now, who may see them, and how they end. */
import { hasStanding, type Caller } from '../kernel/access.ts';
import { type Author, decideAndAppend, type Writer } from '../kernel/decide-and-append.ts';
import type { DirectoryState, OAuthGrantEntry } from '../ports/directory.ts';
import type { Ports } from '../ports/ports.ts';
import { laterOf, type Position } from '../values/position.ts';
import { endOAuthGrant, forgetOAuthGrant, type GrantEnd, oauthGrant } from './oauth-grant.ts';

/** True until it ends, expires, or its person leaves the organisation. */
export const isConnected = (state: DirectoryState, entry: OAuthGrantEntry, now: Date): boolean =>
  entry.revokedAt === null && Date.parse(entry.expiresAt) > now.getTime() && hasStanding(state, entry);

/** People see their own; those who manage the organisation see all of it. */
export const maySee = (caller: Caller, entry: OAuthGrantEntry): boolean =>
  entry.orgId === caller.org.id &&
  (entry.principalId === caller.principal.id || caller.scopes.has('org:manage'));

/**
 * Ends grants in the log, then in every process, then forgets their refresh tokens, which are without effect by then. Resolves
 * with the position of the last end. Throws `store_unavailable`.
 */
export async function endConnections(
  ports: Writer & Pick<Ports, 'directory' | 'authorizationRequests'>,
  author: Author,
  {
    entries,
    reason,
  }: { readonly entries: readonly Pick<OAuthGrantEntry, 'id' | 'orgId'>[]; readonly reason: GrantEnd },
): Promise<Position | null> {
  let last: Position | null = null;
  for (const { id, orgId } of entries) {
    const decide = (state: typeof oauthGrant.initial) =>
      reason === 'account_erased' ? forgetOAuthGrant(state) : endOAuthGrant(state, reason);
    const { position } = await decideAndAppend(ports, { ...author, orgId }, oauthGrant, { id, decide });
    last = laterOf(last, position);
  }
  if (last !== null) await ports.directory.waitFor(last);
  await ports.authorizationRequests.forgetGrants(entries.map(({ id }) => id));
  return last;
}
