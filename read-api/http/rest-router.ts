/** The REST face: a route per capability of the registry, and nothing but translation. */
import express, { type Request as HttpRequest, type Response, type Router } from 'express';
import type { Capability, Request } from '../../commands/kernel/capability.ts';
import { GatewayError, notFound } from '../../commands/kernel/errors.ts';
import { invokeCapability } from '../../commands/kernel/invoke-capability.ts';
import type { Ports } from '../../commands/kernel/ports.ts';
import type { Door } from './door.ts';
import { ClientGone } from './request-body.ts';
import { RequestInput } from './request-input.ts';
import { sendError, sendOutcome } from './rest-answer.ts';

export interface RestOptions {
  readonly registry: readonly Capability[];
  readonly ports: Ports;
  readonly door: Door;
}

type Handle = (request: HttpRequest, response: Response, requestId: string) => Promise<void>;

/** A router for everything under `/api/v1`. */
export function restRouter(options: RestOptions): Router {
  const { registry, door } = options;
  const router = express.Router({ caseSensitive: true, strict: true });
  const guarded = (handle: Handle) => guard(options, handle);
  const methodsByPath = new Map<string, string[]>();
  for (const capability of registry) {
    if (!capability.rest) continue;
    const { method, path } = capability.rest;
    methodsByPath.set(path, [...(methodsByPath.get(path) ?? []), method.toUpperCase()]);
    router[method](path, guarded(routeOf(options, capability)));
  }
  for (const [path, methods] of methodsByPath) {
    router.all(
      path,
      guarded(async (request, response) => {
        await door.authenticate(request);
        response.setHeader('Allow', methods.join(', '));
        throw new GatewayError('method_not_allowed', `This path takes ${methods.join(', ')}.`);
      }),
    );
  }
  router.use(
    guarded(async (request) => {
      await door.authenticate(request);
      throw notFound('route');
    }),
  );
  return router;
}

/** Request id, origin and errors around a handler: what is thrown becomes the answer. */
function guard({ ports, door }: RestOptions, handle: Handle) {
  return async (request: HttpRequest, response: Response): Promise<void> => {
    const requestId = ports.ids.newId('req');
    response.setHeader('Request-Id', requestId);
    try {
      if (!door.checkOrigin(request, response)) await handle(request, response, requestId);
    } catch (error) {
      if (error instanceof ClientGone) return;
      if (!(error instanceof GatewayError)) {
        const fields = { request_id: requestId, path: request.path, error: stackOf(error) };
        ports.log.error('a request failed', fields);
      }
      if (!response.headersSent) sendError(response, error, requestId);
    }
  };
}

function routeOf({ registry, ports, door }: RestOptions, capability: Capability): Handle {
  const input = new RequestInput(capability, ports.server.limits.jsonBodyBytes);
  return async (request, response, requestId) => {
    const visitor = await door.authenticate(request);
    const release = door.admit(visitor, capability.effect, response);
    try {
      const outcome = await invokeCapability({
        capability,
        registry,
        ports,
        ...visitor,
        input: await input.read(request, request.params as Record<string, string>),
        request: requestOf(request, requestId),
      });
      sendOutcome(response, capability, outcome);
    } finally {
      release();
    }
  };
}

const stackOf = (error: unknown): string =>
  error instanceof Error ? (error.stack ?? error.message) : String(error);

const header = (request: HttpRequest, name: string): string | null => {
  const value = request.headers[name];
  return typeof value === 'string' ? value : null;
};

function requestOf(request: HttpRequest, id: string): Request {
  return {
    id,
    surface: 'rest',
    idempotencyKey: header(request, 'idempotency-key'),
    ifMatch: versionOf(header(request, 'if-match')),
    ifPosition: positionOf(header(request, 'if-position')),
    mcpSessionId: null,
  };
}

const badHeader = (name: string, message: string): GatewayError =>
  new GatewayError('invalid_request', message, {
    details: { issues: [{ path: name, code: 'custom', message }] },
  });

/** The version inside a strong entity tag (RFC 9110 8.8.3). Throws `invalid_request` for a weak or unquoted one. */
function versionOf(value: string | null): string | null {
  if (value === null) return null;
  const [, version] = /^"([^"]{1,64})"$/.exec(value) ?? [];
  if (version !== undefined) return version;
  throw badHeader('If-Match', 'If-Match takes one strong entity tag, as the ETag header gave it.');
}

function positionOf(value: string | null): bigint | null {
  if (value === null) return null;
  if (/^\d{1,19}$/.test(value)) return BigInt(value);
  throw badHeader('If-Position', 'If-Position takes the Position header of an earlier answer.');
}
