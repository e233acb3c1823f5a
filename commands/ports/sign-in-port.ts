/** What sign-in asks of the outside: who may try again when, links that count once, and when a session was used last. */
import type { MailCredentials } from './mail-logins.ts';

/** How often a password may be tried (`contract.md` 15 and 18): each try costs a place, each failure a growing pause. */
export interface AttemptLimits {
  /**
   * Lets a try in, runs `check` and counts how it ended: null = it failed; what it throws counts as neither. A try is counted by
   * its source, and where that lets it in by its account, whether it exists or not. Where the account's person has signed in
   * before it is let in all the same, within limits of its own: nobody else's failures keep that person out. All but what is
   * right is answered there as anywhere.
   *
   * Throws `rate_limited` with the seconds to wait; with a source, every one of them as late.
   */
  attempt<Result extends object>(on: AttemptOn, check: () => Promise<Result | null>): Promise<Result | null>;
}

export interface AttemptOn {
  /** Tells accounts apart, and nothing of them. */
  readonly account: string;
  /** Tells addresses apart; null = within a session, which is counted by its account alone. */
  readonly source: string | null;
}

/** `setup` makes the first organisation, `password` sets the password of the person it was made for. */
export type LinkPurpose = 'setup' | 'password';

export interface OneTimeLink {
  readonly subject: string | null;
}

/** Links that count once; only hashes are kept. */
export interface OneTimeLinks {
  /**
   * A fresh token, good for 24 hours; it begins with the route key of the organisation. Null, of either: it is for nobody yet,
   * or of no organisation.
   */
  make(purpose: LinkPurpose, subject: string | null, orgId: string | null): Promise<string>;
  /** Null when it is unknown, used or too old, or for something else. Uses nothing up. */
  find(purpose: LinkPurpose, token: string): Promise<OneTimeLink | null>;
  /**
   * Uses a `password` link up, with any other of the same person, and stores that person's password: both or neither. Null as in
   * `find`, also when another request was first.
   */
  takeForPassword(token: string, password: HashedPassword): Promise<{ readonly userId: string } | null>;
}

/** When sessions were used last, over all processes. */
export interface SessionUse {
  /** True after 30 minutes without use (`contract.md` 2). False counts as a use. Throws `store_unavailable`. */
  isIdle(session: { readonly id: string; readonly startedAt: string }): Promise<boolean>;
}

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

/** Secrets at rest, AES-256-GCM under the key file's key. Nothing here is ever returned to a caller. */
export interface Secrets {
  saveMailCredentials(mailboxId: string, credentials: MailCredentials): Promise<void>;
  /** Null when there are none (never stored, or erased). */
  loadMailCredentials(mailboxId: string): Promise<MailCredentials | null>;
  /**
   * Replaces credentials by what `change` makes of them; the same or null changes nothing. Nobody else reads them for a change, stores or
   * erases them meanwhile, in any process. Returns what is stored then. Throws what `change` throws, and `store_unavailable` when it took too long.
   */
  changeMailCredentials(
    mailboxId: string,
    change: (before: MailCredentials) => Promise<MailCredentials | null>,
  ): Promise<MailCredentials | null>;
  eraseMailCredentials(mailboxId: string): Promise<void>;
  /** Argon2id of a new password. Throws `overloaded` when too many are being worked on. */
  hashPassword(password: string): Promise<HashedPassword>;
  savePassword(userId: string, password: HashedPassword): Promise<void>;
  /**
   * Null when it is not the person's password. Takes as long for nobody (null), and for a person who has none. Throws
   * `overloaded` as `hashPassword` does.
   */
  verifyPassword(userId: string | null, password: string): Promise<VerifiedPassword | null>;
}

/** A PHC string: parameters, salt and hash. */
export type HashedPassword = string & { readonly __hashed: true };

/** A password that was right when it was looked at. */
export interface VerifiedPassword {
  /** False once another one was set, also the same one again. */
  isCurrent(): Promise<boolean>;
}
