/** The credentials of a request: a token, a person's session, or a token made from one (`contract.md` 2). */
import type { ActorKind, Caller } from '../../commands/kernel/access.ts';
import type {
  DirectoryState,
  OAuthGrantEntry,
  SessionEntry,
  TokenEntry,
} from '../../commands/ports/directory.ts';
import {
  assertLive,
  assertSessionLive,
  callerBehind,
  callerSignedIn,
} from '../../commands/kernel/live-caller.ts';
import type { AccessTokenClaims } from '../../commands/ports/sign-in-port.ts';
import { type Scope, SCOPES } from '../../commands/values/scopes.ts';

export type Surface = 'rest' | 'mcp';

/** A credential this gateway issued, and where it may be used. */
export interface Presented {
  /** Id of the token, the session, or the session it was made from. */
  readonly id: string;
  readonly orgId: string;
  readonly principalId: string;
  readonly actor: ActorKind;
  readonly surfaces: readonly Surface[];
  /** The session the credential ends with, if any. */
  readonly session: SessionEntry | null;
  /** Equal for credentials that have the same caller. */
  readonly keptAs: string;
  /** Throws `token_revoked` or `token_expired`. */
  assertLive(now: Date): void;
  callerIn(state: DirectoryState, now: Date): Caller;
}

/** A token of the directory, or one made from `session`. */
export const presentedToken = (
  token: TokenEntry,
  surfaces: readonly Surface[],
  session: SessionEntry | null = null,
): Presented => ({
  id: token.id,
  orgId: token.orgId,
  principalId: token.principalId,
  actor: token.principalKind === 'agent' ? 'agent' : 'delegated',
  surfaces,
  session,
  // One session or grant can have tokens with different scopes and expiry times.
  keptAs: `${token.id} ${token.surface} ${token.expiresAt} ${token.scopes.join(' ')}`,
  assertLive: (now) => {
    assertLive(token, now);
  },
  callerIn: (state, now) => callerBehind(state, token, now),
});

/** The session itself, which represents its person. */
export const presentedSession = (session: SessionEntry): Presented => ({
  id: session.id,
  orgId: session.orgId,
  principalId: session.userId,
  actor: 'person',
  surfaces: ['rest'],
  session,
  keptAs: session.id,
  assertLive: (now) => {
    assertSessionLive(session, now);
  },
  callerIn: (state, now) => callerSignedIn(state, session, now),
});

const isScope = (text: string): text is Scope => SCOPES.some((scope) => scope === text);

/** A JWT that was issued under an OAuth grant, as an equivalent token: it has no more rights than both. */
export const tokenOfGrant = (grant: OAuthGrantEntry, claims: AccessTokenClaims): TokenEntry => {
  const { expiresAt, issuedAt, scopes } = claims;
  return {
    ...grant,
    scopes: grant.scopes.filter((scope) => scopes.includes(scope)),
    expiresAt: expiresAt < new Date(grant.expiresAt) ? expiresAt.toISOString() : grant.expiresAt,
    createdAt: issuedAt.toISOString(),
  };
};

/** A JWT made from a session, as an equivalent token: it ends when the session does. */
export const tokenOfSession = (
  session: SessionEntry,
  { scopes, issuedAt, expiresAt }: AccessTokenClaims,
  [surface = 'rest']: readonly Surface[],
): TokenEntry => ({
  id: session.id,
  orgId: session.orgId,
  principalId: session.userId,
  principalKind: 'user',
  name: 'Token of a session',
  surface,
  scopes: scopes.filter(isScope),
  mailboxIds: null,
  expiresAt: expiresAt.toISOString(),
  createdAt: issuedAt.toISOString(),
  position: session.position,
  createdBy: session.userId,
  revokedAt: session.endedAt,
  secretHash: null,
});
