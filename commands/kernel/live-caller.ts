/** Whether a token still stands for somebody: asked at each request, and again by what takes long. */
import { type Caller, callerOf } from './access.ts';
import type { DirectoryState, TokenEntry } from './directory.ts';
import { GatewayError } from './errors.ts';

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
