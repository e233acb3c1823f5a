/** Bearer → caller (`contract.md` 2). The token's claims identify; its rights are read for each request. */
import type { ActorKind, Caller } from '../../commands/kernel/access.ts';
import type { Request } from '../../commands/kernel/capability.ts';
import { BoundedMap } from '../../commands/values/bounded-map.ts';
import { isSessionId } from '../../commands/values/event.ts';
import { ERROR_TABLE, GatewayError } from '../../commands/values/errors.ts';
import type { Ports } from '../../commands/ports/ports.ts';
import type { Sealed } from '../../commands/values/sealed.ts';
import {
  type Presented,
  presentedSession,
  presentedToken,
  type Surface,
  tokenOfGrant,
  tokenOfSession,
} from './presented-credential.ts';
import { recordRefusal, requestAuthor } from '../../commands/kernel/access-events.ts';
import { untilRightsKnown } from '../../commands/kernel/rights-known.ts';

const SURFACES: readonly Surface[] = ['rest', 'mcp'];
const WRONG_SURFACE: Readonly<Record<Surface, string>> = {
  rest: 'This token is not meant for REST; send a token issued with surface rest.',
  mcp: 'This token is not meant for MCP; send a JWT issued with surface mcp, or one made from your session.',
};

/** Grants expire by the clock, so a caller is cached briefly even when nothing changes. */
const KEEP_CALLER_MS = 1_000;
const MOST_KEPT = 10_000;
const MOST_BYTES = 16 * 1_048_576;
const CALLER_BYTES = 2_048;
/** Of the scopes and quotas on one mailbox. */
const ACCESS_BYTES = 512;

interface Kept {
  readonly caller: Caller;
  readonly directoryVersion: number;
  readonly until: number;
}

/** The parts of a request that identify its sender. */
export interface Credentials {
  readonly authorization: string | undefined;
  readonly surface: Surface;
  readonly requestId: string;
  /** The surface that a refusal is recorded on: for a person it may be the console. */
  readonly recordedAs: (actor: ActorKind) => Request['surface'];
  /** Called when the refused caller is unknown. */
  readonly source: () => string;
  /** Seals address and user agent under the key of the token's principal. */
  readonly seal: (principalId: string) => Promise<Sealed>;
}

const unauthenticated = (message: string): GatewayError => new GatewayError('unauthenticated', message);

/** Identifies the caller. One per process: it caches callers as long as they cannot have changed. */
export class Authenticator {
  readonly #ports: Ports;
  readonly #kept = new BoundedMap<string, Kept>(MOST_KEPT, {
    mostBytes: MOST_BYTES,
    bytesOf: ({ caller }, keptAs) => CALLER_BYTES + 2 * keptAs.length + ACCESS_BYTES * caller.mailboxes.size,
  });

  constructor(ports: Ports) {
    this.#ports = ports;
  }

  /**
   * The caller of an `Authorization` header on a surface. Throws `unauthenticated`, `token_expired` or
   * `token_revoked`, and `store_unavailable` while this process may lack a revocation. The refusal of a known
   * token is recorded; any other is counted by its source.
   */
  async callerOf(credentials: Credentials): Promise<Caller> {
    await untilRightsKnown(this.#ports.directory);
    let presented: Presented | null = null;
    try {
      presented = await this.#presented(bearerOf(credentials.authorization));
      return await this.#liveCaller(presented, credentials.surface);
    } catch (error) {
      if (error instanceof GatewayError) await this.#note(error, presented, credentials);
      throw error;
    }
  }

  async #presented(bearer: string): Promise<Presented> {
    const { tokens, directory } = this.#ports;
    const { state } = directory;
    const hash = tokens.hashRestToken(bearer);
    const sessionHash = hash === null ? tokens.hashSessionToken(bearer) : null;
    if (hash === null && sessionHash === null) return await this.#presentedJwt(bearer);
    const token = state.tokens.get(state.tokenIdByHash.get(hash ?? '') ?? '');
    if (token) return presentedToken(token, ['rest']);
    const session = state.sessions.get(state.sessionIdByHash.get(sessionHash ?? '') ?? '');
    if (session) return presentedSession(session);
    throw unauthenticated('This token is not known here.');
  }

  async #presentedJwt(bearer: string): Promise<Presented> {
    const { tokens, directory, server } = this.#ports;
    const claims = await tokens.verifyAccessToken(bearer);
    const addresses = { rest: `${server.baseUrl}/api/v1`, mcp: `${server.baseUrl}/mcp` };
    const surfaces = SURFACES.filter((surface) => claims.audience.includes(addresses[surface]));
    const { tokenId, subject, orgId } = claims;
    if (isSessionId(tokenId)) {
      const session = directory.state.sessions.get(tokenId);
      if (session?.userId === subject && session.orgId === orgId)
        return presentedToken(tokenOfSession(session, claims, surfaces), surfaces, session);
    }
    const grant = directory.state.oauthGrants.get(tokenId);
    const token = grant ? tokenOfGrant(grant, claims) : directory.state.tokens.get(tokenId);
    if (token?.principalId === subject && token.orgId === orgId) return presentedToken(token, surfaces);
    throw unauthenticated('This token is not known here.');
  }

  async #liveCaller(presented: Presented, surface: Surface): Promise<Caller> {
    const { clock, directory, sessionUse } = this.#ports;
    const now = clock.now();
    if (!presented.surfaces.includes(surface)) throw unauthenticated(WRONG_SURFACE[surface]);
    presented.assertLive(now);
    if (presented.session && (await sessionUse.isIdle(presented.session))) throw idle();
    const kept = this.#kept.get(presented.keptAs);
    if (kept?.directoryVersion === directory.version && kept.until > clock.elapsedMs()) return kept.caller;
    const caller = presented.callerIn(directory.state, now);
    const until = clock.elapsedMs() + KEEP_CALLER_MS;
    this.#kept.set(presented.keptAs, { caller, directoryVersion: directory.version, until });
    return caller;
  }

  async #note(error: GatewayError, presented: Presented | null, credentials: Credentials): Promise<void> {
    const { accessLog } = this.#ports;
    // An unavailable store is not a refusal.
    if (ERROR_TABLE[error.code].status !== 401) return;
    if (presented === null) {
      accessLog.countRefusal(error.code, credentials.source());
      return;
    }
    const { recordedAs, requestId, seal } = credentials;
    // Without the key of its principal the refusal is still recorded.
    const client = await seal(presented.principalId).catch(() => null);
    const surface = recordedAs(presented.actor);
    await recordRefusal(this.#ports, requestAuthor({ credential: presented, client, surface, requestId }), {
      capability: null,
      code: error.code,
      mailboxId: null,
    });
  }
}

const idle = (): GatewayError =>
  new GatewayError('token_expired', 'This session was idle for half an hour; sign in again.');

/** The token of a bearer header (RFC 6750 2.1). Throws `unauthenticated` without one. */
function bearerOf(authorization: string | undefined): string {
  const [, token] = /^Bearer +([\w\-.~+/]+=*)$/i.exec(authorization ?? '') ?? [];
  if (token !== undefined) return token;
  throw unauthenticated('Send Authorization: Bearer <token>.');
}
