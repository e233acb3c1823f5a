/** Makes the secret of a token and the terms its event keeps; the secret itself is told once and never stored. */
import type { Ports } from '../ports/ports.ts';
import type { Scope } from '../values/scopes.ts';
import type { TokenTerms } from './token.ts';

export interface TokenRequest {
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

export interface MintedToken {
  readonly secret: string;
  readonly terms: TokenTerms;
}

/** `rest`: opaque, its hash is stored, sealed. `mcp`: a signed JWT, of which nothing needs to be stored. */
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
