/** Bearer → caller, for both faces (`contract.md` 2). The token's claims say who; what it may do is read anew. */
import { refusalEntry } from '../../commands/kernel/access-events.ts';
import { type Caller, callerOf } from '../../commands/kernel/access.ts';
import type { TokenEntry } from '../../commands/kernel/directory.ts';
import { GatewayError } from '../../commands/kernel/errors.ts';
import type { Ports } from '../../commands/kernel/ports.ts';

export type Surface = 'rest' | 'mcp';

/** Grants run out by the clock, so a caller is not kept for long even when nothing changes. */
const KEEP_CALLER_MS = 1_000;
const MOST_KEPT = 10_000;

interface Kept {
  readonly caller: Caller;
  readonly directoryVersion: number;
  readonly until: number;
}

const unauthenticated = (message: string): GatewayError => new GatewayError('unauthenticated', message);

/** Finds out who calls. One per process: it keeps callers for as long as they cannot have changed. */
export class Authenticator {
  readonly #ports: Ports;
  readonly #kept = new Map<string, Kept>();

  constructor(ports: Ports) {
    this.#ports = ports;
  }

  /**
   * The caller of an `Authorization` header on a surface. Throws `unauthenticated`, `token_expired` or `token_revoked`,
   * `store_unavailable` while this process may lack a revocation;
   * the refusal of a known token is recorded, any other is counted by its source address.
   */
  async callerOf(authorization: string | undefined, surface: Surface, source: string): Promise<Caller> {
    if (!this.#ports.directory.isCurrent) {
      throw new GatewayError('store_unavailable', 'It is not known now who may do what; try again.');
    }
    let token: TokenEntry | null = null;
    try {
      token = await this.#tokenOf(bearerOf(authorization), surface);
      return this.#liveCaller(token);
    } catch (error) {
      if (error instanceof GatewayError) await this.#note(error, { token, surface, source });
      throw error;
    }
  }

  async #tokenOf(bearer: string, surface: Surface): Promise<TokenEntry> {
    const { tokens, directory } = this.#ports;
    const hash = tokens.hashRestToken(bearer);
    if (hash !== null) {
      const id = directory.state.tokenIdByHash.get(hash);
      const token = id === undefined ? undefined : directory.state.tokens.get(id);
      if (!token) throw unauthenticated('This token is not known here.');
      if (surface === 'rest') return token;
      throw unauthenticated('This is a REST token; the MCP endpoint takes a JWT.');
    }
    return await this.#tokenOfJwt(bearer, surface);
  }

  async #tokenOfJwt(bearer: string, surface: Surface): Promise<TokenEntry> {
    const { tokens, directory, server } = this.#ports;
    const claims = await tokens.verifyAccessToken(bearer);
    const audience = `${server.baseUrl}${surface === 'rest' ? '/api/v1' : '/mcp'}`;
    if (!claims.audience.includes(audience))
      throw unauthenticated('This token is not meant for this surface.');
    const token = directory.state.tokens.get(claims.tokenId);
    if (token?.principalId !== claims.subject || token.orgId !== claims.orgId) {
      throw unauthenticated('This token is not known here.');
    }
    return token;
  }

  #liveCaller(token: TokenEntry): Caller {
    const { clock, directory } = this.#ports;
    const now = clock.now();
    if (token.revokedAt !== null) throw new GatewayError('token_revoked', 'This token was revoked.');
    if (Date.parse(token.expiresAt) <= now.getTime())
      throw new GatewayError('token_expired', 'This token has expired.');
    const kept = this.#kept.get(token.id);
    if (kept?.directoryVersion === directory.version && kept.until > now.getTime()) return kept.caller;
    const caller = callerOf(directory.state, token, now);
    if (!caller)
      throw new GatewayError('token_revoked', "This token's principal is no longer of the organisation.");
    if (this.#kept.size >= MOST_KEPT) this.#kept.clear();
    const until = now.getTime() + KEEP_CALLER_MS;
    this.#kept.set(token.id, { caller, directoryVersion: directory.version, until });
    return caller;
  }

  async #note(
    error: GatewayError,
    { token, surface, source }: { token: TokenEntry | null; surface: Surface; source: string },
  ): Promise<void> {
    const { accessLog, clock, ids, log } = this.#ports;
    if (token === null) {
      accessLog.countRefusal(error.code, source);
      return;
    }
    const requestId = ids.newId('req');
    const author = {
      orgId: token.orgId,
      actor: {
        type: token.principalKind === 'agent' ? ('agent' as const) : ('delegated' as const),
        id: token.principalId,
        token_id: token.id,
        session_id: null,
      },
      surface,
      requestId,
      correlationId: requestId,
      causationId: requestId,
    };
    try {
      await accessLog.record(
        refusalEntry(author, clock.now(), { capability: null, code: error.code, mailboxId: null }),
      );
    } catch (failure) {
      // The refusal itself must reach the caller, store or no store.
      log.warn('a refused token could not be recorded', { error: String(failure) });
    }
  }
}

/** The token of a bearer header (RFC 6750 2.1). Throws `unauthenticated` without one. */
function bearerOf(authorization: string | undefined): string {
  const [, token] = /^Bearer +([\w\-.~+/]+=*)$/i.exec(authorization ?? '') ?? [];
  if (token !== undefined) return token;
  throw unauthenticated('Send Authorization: Bearer <token>.');
}
