/** Secrets at rest, as the commands see them. */
import type { MailCredentials } from './mail-logins.ts';

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
