/** Bearers of tokens and sessions: opaque ones, of which a hash is stored, and signed ones (`contract.md` 2). */

export interface AccessTokenClaims {
  readonly tokenId: string;
  readonly subject: string;
  readonly orgId: string;
  readonly scopes: readonly string[];
  readonly audience: readonly string[];
  readonly issuedAt: Date;
  readonly expiresAt: Date;
}

export interface Tokens {
  /** A fresh `mgw_` token and the hash to store: the organisation's route key, 43 base62 and 6 checksum characters. */
  newRestToken(orgId: string): { readonly token: string; readonly hash: string };
  /** SHA-256 (hex) of a well-formed REST token, or null when prefix, length or checksum are wrong. */
  hashRestToken(token: string): string | null;
  /** A fresh `mgs_` bearer of a session and the hash to store, of the same form. */
  newSessionToken(orgId: string): { readonly token: string; readonly hash: string };
  /** SHA-256 (hex) of a well-formed session bearer, or null. */
  hashSessionToken(token: string): string | null;
  /** An ES256 JWT with `typ: at+jwt`; without an audience for MCP. */
  signAccessToken(claims: Omit<AccessTokenClaims, 'audience'>, audience?: string): Promise<string>;
  /** The claims of a valid JWT. Throws `GatewayError` `unauthenticated` or `token_expired`. */
  verifyAccessToken(token: string): Promise<AccessTokenClaims>;
}
