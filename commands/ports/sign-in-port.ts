/** What sign-in asks of the outside: who may try again when, links that count once, and when a session was used last. */
import type { HashedPassword } from './secrets.ts';

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
