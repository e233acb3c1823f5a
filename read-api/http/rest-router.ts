/** The REST adapter: a route per capability of the registry, translation only. */
import express, { type NextFunction, type Request as HttpRequest, type Response, type Router } from 'express';
import type { ByteAnswer } from '../../commands/values/byte-streams.ts';
import type { Capability, Request } from '../../commands/kernel/capability.ts';
import { GatewayError, notFound } from '../../commands/values/errors.ts';
import { invokeCapability } from '../../commands/kernel/invoke-capability.ts';
import type { AnyPublicRoute } from '../../commands/kernel/public-route.ts';
import type { Ports } from '../../commands/ports/ports.ts';
import type { Position } from '../../commands/values/position.ts';
import { readPosition } from '../../commands/values/position.ts';
import { effectOf, leastEffectOf } from '../capability-registry.ts';
import type { RequestGate } from './request-gate.ts';
import { goneSignal } from './disconnect-signal.ts';
import { answerPublicRoute } from './public-face.ts';
import { credentialOf, recordRefusal, requestAuthor } from '../../commands/kernel/access-events.ts';
import { factsOf, surfaceOf } from './request-facts.ts';
import { ClientGone } from './request-body.ts';
import { keyOf, RequestInput, withBodyPaths } from './request-input.ts';
import { sendError, sendOutcome } from './rest-answer.ts';
import { sendBytes } from './send-bytes.ts';

export interface RestOptions {
  readonly registry: readonly Capability[];
  /** Routes that require no bearer. */
  readonly publicRoutes: readonly AnyPublicRoute[];
  readonly ports: Ports;
  readonly door: RequestGate;
}

type Handle = (request: HttpRequest, response: Response, requestId: string) => Promise<void>;

/** A router for everything under `/api/v1`. */
export function restRouter(options: RestOptions): Router {
  const { registry, publicRoutes, ports } = options;
  const router = express.Router({ caseSensitive: true, strict: true });
  const guarded = (handle: Handle) => guard(options, handle);
  const methodsByPath = new Map<string, string[]>();
  for (const route of publicRoutes) {
    const { method, path } = route.rest;
    methodsByPath.set(path, methodsOf(route.rest));
    router[method](path, guarded(answerPublicRoute({ ports, registry, publicRoutes }, route)));
  }
  for (const capability of registry) {
    if (!capability.rest) continue;
    const { method, path, noHead } = capability.rest;
    methodsByPath.set(path, [...(methodsByPath.get(path) ?? []), ...methodsOf(capability.rest)]);
    if (noHead === true) router.head(path, guarded(otherMethod(options, methodsOf(capability.rest))));
    router[method](path, guarded(routeOf(options, capability)));
  }
  for (const [path, methods] of methodsByPath) router.all(path, guarded(otherMethod(options, methods)));
  router.use(guarded(unknownRoute(options)));
  // Reached by requests that no route can parse, such as a path that is not percent-encoded.
  router.use((error: unknown, request: HttpRequest, response: Response, _next: NextFunction) => {
    void guarded(async () => {
      throw malformed(error);
    })(request, response);
  });
  return router;
}

/** Request id, origin and errors around a handler: an exception becomes the answer. */
function guard({ ports, door }: RestOptions, handle: Handle) {
  return async (request: HttpRequest, response: Response): Promise<void> => {
    const requestId = ports.ids.newId('req');
    response.setHeader('Request-Id', requestId);
    try {
      if (!door.checkOrigin(request, response)) await handle(request, response, requestId);
    } catch (error) {
      // Disconnected, or already answered by the listener because the body broke off or was too slow.
      if (error instanceof ClientGone || response.writableEnded) return;
      if (!(error instanceof GatewayError)) {
        const fields = { request_id: requestId, path: request.path, error: stackOf(error) };
        ports.log.error('http: request failed', fields);
      }
      if (!response.headersSent) sendError(response, error, requestId);
      // Sent bytes cannot be taken back: the client must see that the answer failed.
      else response.destroy();
    }
  };
}

function routeOf({ registry, ports, door }: RestOptions, capability: Capability): Handle {
  const input = new RequestInput(capability, ports.server.limits.jsonBodyBytes);
  return async (request, response, requestId) => {
    factsOf(request).capability = capability.name;
    const visitor = await door.authenticate(request, requestId);
    let release = door.admit(visitor, leastEffectOf(capability), response);
    try {
      if (capability.waits) release = door.moveToWaitQuota(visitor, release, response);
      const sent = await input.read(request, request.params as Record<string, string>);
      const keyed = keyOf(capability, header(request, 'idempotency-key'), sent);
      const effect = effectOf(capability, keyed.input);
      if (effect !== leastEffectOf(capability)) door.count(visitor, effect, response);
      const present = await door.afterBody(request, visitor, requestId);
      const outcome = await withBodyPaths(capability, () =>
        invokeCapability({
          capability,
          registry,
          ports,
          ...present,
          input: keyed.input,
          request: {
            ...requestOf(request, requestId, capability, ports.server.logId),
            surface: surfaceOf(request, present.caller.actor === 'person'),
            idempotencyKey: keyed.key,
            ...(capability.waits ? { gone: goneSignal(response) } : {}),
          },
        }),
      );
      if (capability.rest?.answerBytes === undefined)
        sendOutcome(response, capability, outcome, {
          logId: ports.server.logId,
          asText: request.accepts(['application/json', 'text/plain']) === 'text/plain',
        });
      else await sendBytes(request, response, outcome.output as ByteAnswer);
    } finally {
      release();
    }
  };
}

const methodsOf = ({ method, noHead }: { readonly method: string; readonly noHead?: true }): string[] =>
  method === 'get' && noHead !== true ? ['GET', 'HEAD'] : [method.toUpperCase()];

/** 405 is not recorded, but counts against the token like any request. */
function otherMethod({ door }: RestOptions, methods: readonly string[]): Handle {
  const allowed = methods.join(', ');
  return async (request, response, requestId) => {
    door.admit(await door.authenticate(request, requestId), 'read', response);
    response.setHeader('Allow', allowed);
    throw new GatewayError('method_not_allowed', `This path takes ${allowed}.`);
  };
}

function unknownRoute({ ports, door }: RestOptions): Handle {
  return async (request, response, requestId) => {
    const visitor = await door.authenticate(request, requestId);
    door.admit(visitor, 'read', response);
    const refusal = notFound('route');
    const { caller, client } = visitor;
    const credential = credentialOf(caller);
    const surface = surfaceOf(request, caller.actor === 'person');
    await recordRefusal(ports, requestAuthor({ credential, client, surface, requestId }), {
      capability: null,
      code: refusal.code,
      mailboxId: null,
    });
    throw refusal;
  };
}

/** Express answers 400 automatically to a path it cannot decode; anything else is an internal error. */
const malformed = (cause: unknown): Error =>
  cause instanceof URIError
    ? badPart('', 'The path is not properly percent-encoded.', cause)
    : new Error('no route could be found', { cause });

const stackOf = (error: unknown): string =>
  error instanceof Error ? (error.stack ?? error.message) : String(error);

const header = (request: HttpRequest, name: string): string | null => {
  const value = request.headers[name];
  return typeof value === 'string' ? value : null;
};

function requestOf(
  request: HttpRequest,
  id: string,
  { effect, ifMatch }: Capability,
  logId: string,
): Omit<Request, 'idempotencyKey' | 'surface'> {
  const matched = header(request, 'if-match');
  if (matched !== null && effect === 'write' && !ifMatch) throw versionIsNotHeld();
  return {
    id,
    ifMatch: versionOf(matched),
    ifPosition: positionOf(header(request, 'if-position'), logId),
    mcpSessionId: null,
  };
}

const badPart = (path: string, message: string, cause?: unknown): GatewayError =>
  new GatewayError('invalid_request', message, {
    details: { issues: [{ path, code: 'custom', message }] },
    cause,
  });

const versionIsNotHeld = (): GatewayError =>
  badPart('If-Match', 'This request is not conditional on a version; leave If-Match out.');

/** The version inside a strong entity tag (RFC 9110 8.8.3). Throws `invalid_request` for a weak or unquoted one. */
function versionOf(value: string | null): string | null {
  if (value === null) return null;
  const [, version] = /^"([^"]{1,64})"$/.exec(value) ?? [];
  if (version !== undefined) return version;
  throw badPart('If-Match', 'If-Match takes one strong entity tag, as the ETag header gave it.');
}

/** The position to wait for. Null also for one of another log, which this log never reaches. */
function positionOf(value: string | null, logId: string): Position | null {
  if (value === null) return null;
  const position = readPosition(logId, value);
  if (position !== undefined) return position;
  throw badPart('If-Position', 'If-Position takes the Position header of an earlier answer.');
}
