/** The ports of sign-in: limits on attempts, one-time links, and the last use of sessions. */
import type { MailCredentials } from './mail-logins.ts';

/**
 * The limits on password attempts (`contract.md` 15 and 18): each attempt is counted, each failure adds a
 * growing pause.
 */
export interface AttemptLimits {
  /**
   * Admits an attempt, runs `check` and counts its result: null = it failed; what it throws counts as
   * neither. An attempt is counted by its source and, if admitted there, by its account, whether that exists
   * or not. From a source where the account's person has signed in before, it is admitted within separate
   * limits, so that the failures of others do not lock that person out. Such an attempt is answered like any
   * other, unless it succeeds.
   *
   * Throws `rate_limited` with the seconds to wait; with a source, always after the same delay.
   */
  attempt<Result extends object>(on: AttemptOn, check: () => Promise<Result | null>): Promise<Result | null>;
}

export interface AttemptOn {
  /** Identifies the account without revealing it. */
  readonly account: string;
  /** Identifies the address; null = within a session, which is counted by its account only. */
  readonly source: string | null;
}

/**
 * What a link does: `setup` creates the first organisation, `password` (made by an administrator on the machine) and `reset`
 * (mailed on request) set the password of a person, `verify` shows that an address is the person's own, `invite` accepts an
 * invite.
 */
export type LinkPurpose = 'setup' | 'password' | 'reset' | 'verify' | 'invite';

export interface OneTimeLink {
  /** The person; of an invite its id; null for `setup`. */
  readonly subject: string | null;
}

/** One-time links; only their hashes are stored. */
export interface OneTimeLinks {
  /**
   * A new token, which replaces the unused one of the same purpose and subject; it begins with the route key of the
   * organisation. A null subject: the link is not for a person yet, and replaces none; a null organisation: it belongs to none.
   * `endsAt` is for links that end with what they are for; the others have the lifetime of their purpose.
   */
  make(purpose: LinkPurpose, subject: string | null, orgId: string | null, endsAt?: Date): Promise<string>;
  /** Null when it is unknown, used, replaced, expired, or for another purpose. Does not use the link up. */
  find(purpose: LinkPurpose, token: string): Promise<OneTimeLink | null>;
  /** Uses the link up. Null as in `find`, also when another request was first. */
  take(purpose: LinkPurpose, token: string): Promise<OneTimeLink | null>;
  /**
   * Uses a `password` or `reset` link up, with all others of the same person for a password, and stores that person's password:
   * both or neither. Null as in `find`, also when another request was first.
   */
  takeForPassword(token: string, password: HashedPassword): Promise<{ readonly userId: string } | null>;
  /** Makes every unused link of the subject invalid. */
  withdraw(subject: string): Promise<void>;
}

/** The devices from which people signed in, for half a year. */
export interface KnownDevices {
  /**
   * Notes a sign-in. True when the person signed in before, but not from this device. `device` is an HMAC of browser, system
   * and network.
   */
  note(userId: string, device: string): Promise<boolean>;
  /** For an account that is erased. */
  forget(userId: string): Promise<void>;
}

/** The last use of sessions, over all processes. */
export interface SessionUse {
  /**
   * True after 30 minutes without use (`contract.md` 2). A call that returns false counts as a use. Throws
   * `store_unavailable`.
   */
  isIdle(session: { readonly id: string; readonly startedAt: string }): Promise<boolean>;
}

/** Bearers of tokens and sessions: opaque ones, stored as a hash, and signed ones (`contract.md` 2). */

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
  /**
   * A new `mgw_` token and the hash to store: the organisation's route key, 43 base62 and 6 checksum
   * characters.
   */
  newRestToken(orgId: string): { readonly token: string; readonly hash: string };
  /** SHA-256 (hex) of a well-formed REST token, or null when prefix, length or checksum are wrong. */
  hashRestToken(token: string): string | null;
  /** A new `mgs_` bearer of a session and the hash to store, in the same form. */
  newSessionToken(orgId: string): { readonly token: string; readonly hash: string };
  /** SHA-256 (hex) of a well-formed session bearer, or null. */
  hashSessionToken(token: string): string | null;
  /** A new `mgc_` secret of a confidential OAuth client and the hash to store, in the same form. */
  newClientSecret(orgId: string): { readonly token: string; readonly hash: string };
  /** SHA-256 (hex) of a well-formed client secret, or null. */
  hashClientSecret(secret: string): string | null;
  /** An ES256 JWT with `typ: at+jwt`; without an audience for MCP. */
  signAccessToken(claims: Omit<AccessTokenClaims, 'audience'>, audience?: string): Promise<string>;
  /** The claims of a valid JWT. Throws `GatewayError` `unauthenticated` or `token_expired`. */
  verifyAccessToken(token: string): Promise<AccessTokenClaims>;
}

/** Secrets at rest, AES-256-GCM under the key file's key. The API never returns one. */
export interface Secrets {
  saveMailCredentials(mailboxId: string, credentials: MailCredentials): Promise<void>;
  /** Null when none are stored, or they were erased. */
  loadMailCredentials(mailboxId: string): Promise<MailCredentials | null>;
  /**
   * Replaces credentials by the result of `change`; the same or null changes nothing. Until then no process
   * reads them for another change, stores or erases them. Returns what is stored then. Throws what `change`
   * throws, and `store_unavailable` when it took too long.
   */
  changeMailCredentials(
    mailboxId: string,
    change: (before: MailCredentials) => Promise<MailCredentials | null>,
  ): Promise<MailCredentials | null>;
  eraseMailCredentials(mailboxId: string): Promise<void>;
  /**
   * Why a new password is easily guessed; null when it is not. `words` are what a guesser tries first: name, address,
   * organisation.
   */
  weaknessOf(password: string, words: readonly string[]): Promise<PasswordWeakness | null>;
  /** Argon2id of a new password. Throws `overloaded` when too many are in progress. */
  hashPassword(password: string): Promise<HashedPassword>;
  savePassword(userId: string, password: HashedPassword): Promise<void>;
  /** Nobody signs in as that person until another password is set. */
  erasePassword(userId: string): Promise<void>;
  /**
   * Null when it is not the person's password. It takes as long for an unknown person (null) and for a person
   * without a password. Throws `overloaded` as `hashPassword` does.
   */
  verifyPassword(userId: string | null, password: string): Promise<VerifiedPassword | null>;
}

/** What makes a password easily guessed. */
export type PasswordWeakness = 'known' | 'personal' | 'repeated' | 'sequence' | 'short_words';

/** A PHC string: parameters, salt and hash. */
export type HashedPassword = string & { readonly __hashed: true };

/** A password that was correct when it was verified. */
export interface VerifiedPassword {
  /** False once another password was set, even the same one again. */
  isCurrent(): Promise<boolean>;
}
