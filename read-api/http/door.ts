/** What both faces ask of a request before they look at what it wants: origin, bearer, rate. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Caller } from '../../commands/kernel/access.ts';
import type { Ports, Sealed } from '../../commands/kernel/ports.ts';
import { Authenticator, type Surface } from './authenticate.ts';
import { Origins } from './origin.ts';
import { type Effect, RateLimits } from './rate-limits.ts';

export interface Visitor {
  readonly caller: Caller;
  /** Address and user agent for the events of this request. */
  readonly client: Sealed | null;
}

export interface Door {
  /** Answers a preflight and returns true; throws `origin_not_allowed`. */
  checkOrigin(request: IncomingMessage, response: ServerResponse): boolean;
  /** Throws with status 401, or `store_unavailable`. */
  authenticate(request: IncomingMessage): Promise<Visitor>;
  /** Counts a request and its effect against the token; the answer ends its being at work. Throws `rate_limited`. */
  admit(visitor: Visitor, effect: Effect, response: ServerResponse): () => void;
  /** Counts what an admitted request turned out to do beside. Throws `rate_limited`. */
  count(visitor: Visitor, effect: Effect, response: ServerResponse): void;
}

const MOST_CLIENTS = 5_000;
const USER_AGENT_CHARS = 256;

const tell = (response: ServerResponse, headers: Readonly<Record<string, string>>): void => {
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
};

export interface DoorOptions {
  readonly allowedOrigins: readonly string[];
  /** Told of each use of a token; must cost nothing. */
  readonly noteUse: (tokenId: string) => void;
}

/** The doors of both faces; they share limits and what they know of callers. */
export function openDoors(ports: Ports, options: DoorOptions): Readonly<Record<Surface, Door>> {
  const origins = new Origins(ports.server.baseUrl, options.allowedOrigins);
  const limits = new RateLimits(ports.server.limits, ports.clock);
  const authenticator = new Authenticator(ports);
  const clients = new Map<string, Promise<Sealed>>();

  /** Sealed once per principal, address and agent: the text is the same for all its requests. */
  const sealClient = (principalId: string, request: IncomingMessage): Promise<Sealed> => {
    const text = JSON.stringify({
      ip: request.socket.remoteAddress ?? '',
      user_agent: (request.headers['user-agent'] ?? '').slice(0, USER_AGENT_CHARS),
    });
    const key = `${principalId} ${text}`;
    const known = clients.get(key);
    if (known) return known;
    if (clients.size >= MOST_CLIENTS) clients.clear();
    const sealed = ports.personal.seal(principalId, text);
    clients.set(key, sealed);
    sealed.catch(() => clients.delete(key));
    return sealed;
  };

  const doorOf = (surface: Surface): Door => ({
    checkOrigin: (request, response) => {
      origins.check(request, response);
      return origins.answerPreflight(request, response);
    },
    authenticate: async (request) => {
      const source = request.socket.remoteAddress ?? 'unknown';
      const caller = await authenticator.callerOf(request.headers.authorization, surface, source);
      options.noteUse(caller.token.id);
      return { caller, client: await sealClient(caller.principal.id, request) };
    },
    admit: ({ caller }, effect, response) => {
      const { release, headers } = limits.admit(caller.token.id, effect);
      tell(response, headers);
      response.once('close', release);
      return release;
    },
    count: ({ caller }, effect, response) => {
      tell(response, limits.count(caller.token.id, effect));
    },
  });
  return { rest: doorOf('rest'), mcp: doorOf('mcp') };
}
