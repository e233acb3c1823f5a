/** Browsers: origins that may call, and the headers they get (`contract.md` 16; Fetch standard, CORS). */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { GatewayError } from '../../commands/values/errors.ts';

const EXPOSED = [
  'Mcp-Session-Id', 'Request-Id', 'WWW-Authenticate', 'RateLimit', 'RateLimit-Policy', 'Retry-After', 'Allow', 'ETag',
  'Location', 'Position', 'Stale', 'Idempotency-Replayed',
].join(', '); // prettier-ignore
const ALLOWED_HEADERS =
  'Authorization, Content-Type, Accept, Idempotency-Key, If-Match, If-Position, Mcp-Session-Id, MCP-Protocol-Version, ' +
  'Mcp-Method, Mcp-Name';
const PREFLIGHT_SECONDS = 600;

/** The origins that may call: the gateway's own, and those the operator lists. */
export class Origins {
  readonly #allowed: ReadonlySet<string>;

  constructor(baseUrl: string, others: readonly string[]) {
    this.#allowed = new Set([new URL(baseUrl).origin, ...others]);
  }

  /**
   * Sets the CORS headers of an allowed origin. A request without an Origin is not from a browser and passes.
   * Throws `origin_not_allowed`, also for the origin `null`.
   */
  check(request: IncomingMessage, response: ServerResponse): void {
    const { origin } = request.headers;
    response.setHeader('Vary', 'Origin');
    if (origin === undefined) return;
    if (!this.#allowed.has(origin)) {
      throw new GatewayError('origin_not_allowed', 'This Origin is not on the list of allowed origins.');
    }
    response.setHeader('Access-Control-Allow-Origin', origin);
    response.setHeader('Access-Control-Expose-Headers', EXPOSED);
  }

  /** Answers a preflight of an allowed origin; false for any other request. */
  answerPreflight(request: IncomingMessage, response: ServerResponse): boolean {
    const wanted = request.headers['access-control-request-method'];
    if (request.method !== 'OPTIONS' || wanted === undefined || request.headers.origin === undefined)
      return false;
    response.setHeader('Access-Control-Allow-Methods', 'GET, POST, PUT, PATCH, DELETE');
    response.setHeader('Access-Control-Allow-Headers', ALLOWED_HEADERS);
    response.setHeader('Access-Control-Max-Age', String(PREFLIGHT_SECONDS));
    response.writeHead(204);
    response.end();
    return true;
  }
}
