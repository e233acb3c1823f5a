/**
 * Whether a credential is still valid, at each request and again during long ones, and whether its password was just given
 * (step-up, `contract.md` 18).
 */
import { type Caller, callerInSession, callerOf, type CallerSession, isFresh } from './access.ts';
import { isOAuthGrantId, isSessionId } from '../values/event.ts';
import type { DirectoryState, SessionEntry, TokenEntry } from '../ports/directory.ts';
import { GatewayError } from '../values/errors.ts';

/** Throws `token_revoked` or `token_expired`. */
export function assertLive({ revokedAt, expiresAt }: TokenEntry, now: Date): void {
  if (revokedAt !== null) throw new GatewayError('token_revoked', 'This token was revoked.');
  if (Date.parse(expiresAt) <= now.getTime()) {
    throw new GatewayError('token_expired', 'This token has expired.');
  }
}

/** The caller behind a live token. Throws `token_revoked` when its principal has left the organisation. */
export function callerBehind(state: DirectoryState, token: TokenEntry, now: Date): Caller {
  const caller = callerOf(state, token, now);
  if (caller) return caller;
  throw new GatewayError('token_revoked', "This token's principal is no longer of the organisation.");
}

/** Throws `token_revoked` or `token_expired`. */
export function assertSessionLive({ endedAt, expiresAt }: SessionEntry, now: Date): void {
  if (endedAt !== null) throw sessionOver();
  if (Date.parse(expiresAt) <= now.getTime()) {
    throw new GatewayError('token_expired', 'This session has expired; sign in again.');
  }
}

/** The person in a live session. Throws `token_revoked` when they have left the organisation. */
export function callerSignedIn(state: DirectoryState, session: SessionEntry, now: Date): Caller {
  const caller = callerInSession(state, session, now);
  if (caller) return caller;
  throw new GatewayError('token_revoked', 'You are no longer of this organisation.');
}

/** The present rights of an earlier caller. Throws `token_revoked` or `token_expired`. */
export function callerNow(state: DirectoryState, before: Caller, now: Date): Caller {
  if (before.session !== null) {
    const session = state.sessions.get(before.session.id);
    if (!session) throw sessionOver();
    assertSessionLive(session, now);
    return callerSignedIn(state, session, now);
  }
  const token = tokenNow(state, before.token);
  assertLive(token, now);
  return callerBehind(state, token, now);
}

/** A token made from a session or under an OAuth grant is in no list: it is valid as long as that. */
function tokenNow({ tokens, sessions, oauthGrants }: DirectoryState, token: TokenEntry): TokenEntry {
  if (isOAuthGrantId(token.id)) return asLong(token, oauthGrants.get(token.id)?.revokedAt);
  if (isSessionId(token.id)) return asLong(token, sessions.get(token.id)?.endedAt);
  return tokens.get(token.id) ?? token;
}

/** `endedAt`: undefined when what it depends on is gone. */
const asLong = (token: TokenEntry, endedAt: string | null | undefined): TokenEntry => ({
  ...token,
  revokedAt: endedAt === undefined ? token.createdAt : endedAt,
});

const sessionOver = (): GatewayError =>
  new GatewayError('token_revoked', 'This session is over; sign in again.');

export const stepUpRequired = (): GatewayError =>
  new GatewayError(
    'step_up_required',
    'Confirm your password first: POST /auth/step-up with {password}, then repeat this request within 15 minutes.',
  );

/** True while the caller is a person's session whose password was given at most 15 minutes ago. */
export const isSteppedUp = ({ session }: Pick<Caller, 'session'>, now: Date): boolean =>
  isFresh(session, now);

/** How long a password counts as just given, after sign-in and after step-up (`contract.md` 18). */
export const STEP_UP_MS = 15 * 60_000;

/** The session of a person who is signed in. Throws `insufficient_scope` for every token: a token cannot become a session. */
export function requireSession({ session }: Pick<Caller, 'session'>): CallerSession {
  if (session !== null) return session;
  throw new GatewayError('insufficient_scope', 'Only a signed-in person may do this; a token is not enough.');
}

/**
 * For changes of credentials. Throws `step_up_required` in a session without a fresh password, and for a token made from
 * such a session. Independent tokens are bounded by their scopes only.
 */
export function requireFreshPassword(
  { session, token }: Pick<Caller, 'session' | 'token'>,
  { sessions }: Pick<DirectoryState, 'sessions'>,
  now: Date,
): void {
  if (session === null && !isSessionId(token.id)) return;
  if (!isFresh(session ?? sessions.get(token.id) ?? null, now)) throw stepUpRequired();
}
