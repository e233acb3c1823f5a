/** Whether a credential is still valid: checked at each request, and again during long requests. */
import { type Caller, callerInSession, callerOf } from './access.ts';
import { isSessionId } from '../values/event.ts';
import type { DirectoryState, SessionEntry, TokenEntry } from '../ports/directory.ts';
import { GatewayError } from '../values/errors.ts';

/** Throws `token_revoked` or `token_expired`. */
export function assertLive({ revokedAt, expiresAt }: TokenEntry, now: Date): void {
  if (revokedAt !== null) throw new GatewayError('token_revoked', 'This token was revoked.');
  if (Date.parse(expiresAt) <= now.getTime()) {
    throw new GatewayError('token_expired', 'This token has expired.');
  }
}

/** Who is behind a live token. Throws `token_revoked` when its principal is no longer of the organisation. */
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

/** Who is signed in by a live session. Throws `token_revoked` when that person is no longer of the organisation. */
export function callerSignedIn(state: DirectoryState, session: SessionEntry, now: Date): Caller {
  const caller = callerInSession(state, session, now);
  if (caller) return caller;
  throw new GatewayError('token_revoked', 'You are no longer of this organisation.');
}

/** The caller of an earlier moment as it stands now. Throws `token_revoked` or `token_expired`. */
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

/** A token made from a session is in no list: it lives as long as the session does. */
function tokenNow({ tokens, sessions }: DirectoryState, token: TokenEntry): TokenEntry {
  if (!isSessionId(token.id)) return tokens.get(token.id) ?? token;
  const session = sessions.get(token.id);
  return { ...token, revokedAt: session ? session.endedAt : token.createdAt };
}

const sessionOver = (): GatewayError =>
  new GatewayError('token_revoked', 'This session is over; sign in again.');
