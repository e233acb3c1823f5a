/** Bearer → caller, for both faces (`contract.md` 2). The token's claims say who; what it may do is read anew. */
import type { Caller } from '../../commands/kernel/access.ts';
import type { TokenEntry } from '../../commands/kernel/directory.ts';
import { ERROR_TABLE, GatewayError } from '../../commands/kernel/errors.ts';
import { assertLive, callerBehind } from '../../commands/kernel/live-caller.ts';
import type { Ports, Sealed } from '../../commands/kernel/ports.ts';
import { recordRefusal } from './refusals.ts';

export type Surface = 'rest' | 'mcp';

const SURFACES: readonly Surface[] = ['rest', 'mcp'];
const WRONG_SURFACE: Readonly<Record<Surface, string>> = {
  rest: 'This token is not meant for REST; send a token issued with surface rest.',
  mcp: 'This token is not meant for MCP; send a JWT issued with surface mcp.',
};

/** Grants run out by the clock, so a caller is not kept for long even when nothing changes. */
const KEEP_CALLER_MS = 1_000;
const MOST_KEPT = 10_000;

interface Kept {
  readonly caller: Caller;
  readonly directoryVersion: number;
  readonly until: number;
}

/** What is asked of a request to find out who sends it. */
export interface Credentials {
  readonly authorization: string | undefined;
  readonly surface: Surface;
  readonly requestId: string;
  /** Asked when the refusal is of nobody known. */
  readonly source: () => string;
  /** Address and user agent under the key of whom the token turns out to be of. */
  readonly seal: (principalId: string) => Promise<Sealed>;
}

/** A token this gateway made, and where it may be used. */
interface Presented {
  readonly token: TokenEntry;
  readonly surfaces: readonly Surface[];
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
   * `store_unavailable` while this process may lack a revocation; the refusal of a known token is recorded, any other
   * is counted by its source.
   */
  async callerOf(credentials: Credentials): Promise<Caller> {
    if (!this.#ports.directory.isCurrent) {
      throw new GatewayError('store_unavailable', 'It is not known now who may do what; try again.');
    }
    let presented: Presented | null = null;
    try {
      presented = await this.#presented(bearerOf(credentials.authorization));
      return this.#liveCaller(presented, credentials.surface);
    } catch (error) {
      if (error instanceof GatewayError) await this.#note(error, presented?.token ?? null, credentials);
      throw error;
    }
  }

  async #presented(bearer: string): Promise<Presented> {
    const { tokens, directory } = this.#ports;
    const hash = tokens.hashRestToken(bearer);
    if (hash === null) return await this.#presentedJwt(bearer);
    const token = directory.state.tokens.get(directory.state.tokenIdByHash.get(hash) ?? '');
    if (token) return { token, surfaces: ['rest'] };
    throw unauthenticated('This token is not known here.');
  }

  async #presentedJwt(bearer: string): Promise<Presented> {
    const { tokens, directory, server } = this.#ports;
    const { tokenId, subject, orgId, audience } = await tokens.verifyAccessToken(bearer);
    const token = directory.state.tokens.get(tokenId);
    if (token?.principalId !== subject || token.orgId !== orgId) {
      throw unauthenticated('This token is not known here.');
    }
    const addresses = { rest: `${server.baseUrl}/api/v1`, mcp: `${server.baseUrl}/mcp` };
    return { token, surfaces: SURFACES.filter((surface) => audience.includes(addresses[surface])) };
  }

  #liveCaller({ token, surfaces }: Presented, surface: Surface): Caller {
    const { clock, directory } = this.#ports;
    const now = clock.now();
    if (!surfaces.includes(surface)) throw unauthenticated(WRONG_SURFACE[surface]);
    assertLive(token, now);
    const kept = this.#kept.get(token.id);
    if (kept?.directoryVersion === directory.version && kept.until > now.getTime()) return kept.caller;
    const caller = callerBehind(directory.state, token, now);
    if (this.#kept.size >= MOST_KEPT) this.#kept.clear();
    const until = now.getTime() + KEEP_CALLER_MS;
    this.#kept.set(token.id, { caller, directoryVersion: directory.version, until });
    return caller;
  }

  async #note(error: GatewayError, token: TokenEntry | null, credentials: Credentials): Promise<void> {
    const { accessLog } = this.#ports;
    // A store that does not answer refuses nobody.
    if (ERROR_TABLE[error.code].status !== 401) return;
    if (token === null) {
      accessLog.countRefusal(error.code, credentials.source());
      return;
    }
    const { surface, requestId, seal } = credentials;
    // Without the key of its principal the refusal is still worth its event.
    const client = await seal(token.principalId).catch(() => null);
    await recordRefusal(this.#ports, { token, client, surface, requestId }, error);
  }
}

/** The token of a bearer header (RFC 6750 2.1). Throws `unauthenticated` without one. */
function bearerOf(authorization: string | undefined): string {
  const [, token] = /^Bearer +([\w\-.~+/]+=*)$/i.exec(authorization ?? '') ?? [];
  if (token !== undefined) return token;
  throw unauthenticated('Send Authorization: Bearer <token>.');
}
