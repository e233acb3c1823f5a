/** What sign-in asks of the outside: who may try again when, links that count once, and when a session was used last. */

/** How often a password may be tried (`contract.md` 15 and 18): each try costs a place, each failure a growing pause. */
export interface AttemptLimits {
  /**
   * Counts a try on an account, whether it exists or not, and one from a source. An account tried from where its person has
   * signed in before is counted by itself, so nobody else's failures keep that person out. Throws `rate_limited` with the
   * seconds to wait.
   */
  admit(attempt: AttemptOn): Promise<Attempt>;
}

export interface AttemptOn {
  /** Tells accounts apart, and nothing of them. */
  readonly account: string;
  /** Tells addresses apart; null = within a session, which is counted by its account alone. */
  readonly source: string | null;
}

/** A try that was let in: how it ended is to be told. */
export interface Attempt {
  failed(): Promise<void>;
  succeeded(): Promise<void>;
}

/** `setup` makes the first organisation, `password` sets the password of the person it was made for. */
export type LinkPurpose = 'setup' | 'password';

/** Links that count once; only hashes are kept. */
export interface OneTimeLinks {
  /** A fresh token, good for 24 hours. `subject` = whom it is for, where it is for somebody. */
  make(purpose: LinkPurpose, subject: string | null): Promise<string>;
  /** Uses the token up, and any other for the same subject; null when it is unknown, used or too old, or for something else. */
  take(purpose: LinkPurpose, token: string): Promise<{ readonly subject: string | null } | null>;
}

/** When sessions were used last, over all processes. */
export interface SessionUse {
  /** True after 30 minutes without use (`contract.md` 2). False counts as a use. Throws `store_unavailable`. */
  isIdle(session: { readonly id: string; readonly startedAt: string }): Promise<boolean>;
}
