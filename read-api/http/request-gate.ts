/** The checks of both adapters before they read a request's input: origin, bearer, rate. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Caller } from '../../commands/kernel/access.ts';
import type { Ports } from '../../commands/ports/ports.ts';
import type { Sealed } from '../../commands/values/sealed.ts';
import { Authenticator } from './authenticate.ts';
import type { Surface } from './presented-credential.ts';
import { Clients } from './clients.ts';
import { Origins } from './origin.ts';
import { type Effect, RateLimits } from './rate-limits.ts';
import { factsOf, surfaceOf } from './request-facts.ts';

/** Rights that were read this long ago need not be read again: little of the second in which they end. */
const RIGHTS_FRESH_MS = 20;

export interface AuthenticatedRequest {
  readonly caller: Caller;
  /** Address and user agent for the events of this request. */
  readonly client: Sealed | null;
}

export interface RequestGate {
  /** Answers a preflight and returns true; throws `origin_not_allowed`. */
  checkOrigin(request: IncomingMessage, response: ServerResponse): boolean;
  /** Throws with status 401, or `store_unavailable`. The id is the `Request-Id` that the audit trail has. */
  authenticate(request: IncomingMessage, requestId?: string): Promise<AuthenticatedRequest>;
  /**
   * The visitor of a request whose body has arrived. Authenticates again, because a body may take minutes and rights end
   * within a second; not when the body came with the head and no right has changed.
   */
  afterBody(
    request: IncomingMessage,
    visitor: AuthenticatedRequest,
    requestId: string,
  ): Promise<AuthenticatedRequest>;
  /** Counts a request and its effect against the token; it runs until the answer. Throws `rate_limited`. */
  admit(visitor: AuthenticatedRequest, effect: Effect, response: ServerResponse): () => void;
  /**
   * Turns an admitted request into a waiting one: `release` ends its running, the answer its waiting. Throws
   * `rate_limited`.
   */
  moveToWaitQuota(visitor: AuthenticatedRequest, release: () => void, response: ServerResponse): () => void;
  /** Counts a further effect of an admitted request. Throws `rate_limited`. */
  count(visitor: AuthenticatedRequest, effect: Effect, response: ServerResponse): void;
}

export interface RequestGateOptions {
  readonly allowedOrigins: readonly string[];
  /** Called for each use of a token; must be cheap. */
  readonly noteUse: (tokenId: string) => void;
}

/** The gates of REST and MCP, with shared limits. */
export const openRequestGates = (
  ports: Ports,
  options: RequestGateOptions,
): Readonly<Record<Surface, RequestGate>> => {
  const limits = new RateLimits(ports.server.limits, ports.clock);
  return { rest: openGate('rest', ports, limits, options), mcp: openGate('mcp', ports, limits, options) };
};

/** Runs work under the limits of a token: sends their headers and counts a refusal. */
const limited =
  (limits: RateLimits, accessLog: Ports['accessLog']) =>
  <T>(tokenId: string, effect: Effect, response: ServerResponse, work: () => T): T => {
    try {
      return work();
    } catch (error) {
      accessLog.countRefusal('rate_limited', tokenId);
      throw error;
    } finally {
      const headers = Object.entries(limits.headers(tokenId, effect));
      for (const [name, value] of headers) response.setHeader(name, value);
    }
  };

function openGate(
  surface: Surface,
  ports: Ports,
  limits: RateLimits,
  options: RequestGateOptions,
): RequestGate {
  const origins = new Origins(ports.server.baseUrl, options.allowedOrigins);
  const authenticator = new Authenticator(ports);
  const clients = new Clients(ports);
  const { accessLog, clock, directory, ids } = ports;

  const within = limited(limits, accessLog);

  const gate: RequestGate = {
    checkOrigin: (request, response) => {
      try {
        origins.check(request, response);
      } catch (error) {
        accessLog.countRefusal('origin_not_allowed', clients.sourceOf(request));
        throw error;
      }
      return origins.answerPreflight(request, response);
    },
    authenticate: async (request, requestId = ids.newId('req')) => {
      const caller = await authenticator.callerOf({
        authorization: request.headers.authorization,
        surface,
        requestId,
        recordedAs: (actor) => (surface === 'mcp' ? surface : surfaceOf(request, actor === 'person')),
        source: () => clients.sourceOf(request),
        seal: (principalId) => clients.seal(principalId, request),
      });
      options.noteUse(caller.token.id);
      const rights = { readAt: clock.elapsedMs(), version: directory.version };
      Object.assign(factsOf(request), { caller, rights });
      return { caller, client: await clients.seal(caller.principal.id, request) };
    },
    afterBody: async (request, visitor, requestId) => {
      const { rights } = factsOf(request);
      const areKnown =
        rights?.version === directory.version && clock.elapsedMs() - rights.readAt <= RIGHTS_FRESH_MS;
      return areKnown ? visitor : await gate.authenticate(request, requestId);
    },
    admit: ({ caller }, effect, response) => {
      const release = within(caller.token.id, effect, response, () => limits.admit(caller.token.id, effect));
      response.once('close', release);
      return release;
    },
    moveToWaitQuota: ({ caller }, release, response) => {
      release();
      const end = within(caller.token.id, 'read', response, () => limits.wait(caller.token.id));
      response.once('close', end);
      return end;
    },
    count: ({ caller }, effect, response) => {
      within(caller.token.id, effect, response, () => {
        limits.count(caller.token.id, effect);
      });
    },
  };
  return gate;
}
