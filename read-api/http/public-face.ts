/** Routes of the REST adapter that need no bearer: translation only, no authentication. */
import type { Request, Response } from 'express';
import { ERROR_TABLE, GatewayError } from '../../commands/values/errors.ts';
import { invokePublicRoute } from '../../commands/kernel/public-route.ts';
import type { Ports } from '../../commands/ports/ports.ts';
import type { Position } from '../../commands/values/position.ts';
import type { AnyPublicRoute, Routes } from '../../commands/kernel/public-route.ts';
import { Clients } from './clients.ts';
import { factsOf, surfaceOf } from './request-facts.ts';
import { RequestInput } from './request-input.ts';
import { sendOutcome } from './rest-answer.ts';

/** Memory that an unauthenticated caller may use for each connection. */
export const PUBLIC_BODY_BYTES = 16 * 1024;

export interface RoutesAndPorts extends Routes {
  readonly ports: Ports;
}

type Handle = (request: Request, response: Response, requestId: string) => Promise<void>;

/** Answers one route. Refusals are counted by source (`contract.md` 12); wrong passwords by their route. */
export function answerPublicRoute({ ports, ...routes }: RoutesAndPorts, route: AnyPublicRoute): Handle {
  const clients = new Clients(ports);
  const input = new RequestInput(route, Math.min(PUBLIC_BODY_BYTES, ports.server.limits.jsonBodyBytes));
  return async (request, response, requestId) => {
    factsOf(request).capability = route.name;
    const source = clients.networkOf(request);
    let position: Position | null = null;
    try {
      const output = await invokePublicRoute(route, await input.read(request, {}), {
        ports,
        routes,
        requestId,
        // Only people call these routes from a page of the gateway.
        surface: surfaceOf(request, true),
        source,
        afterAnswer: (work) => {
          response.once('close', work);
        },
        device: clients.deviceOf(request),
        sealClient: (principalId) => clients.seal(principalId, request),
        notePosition: (reached) => {
          position = reached;
        },
      });
      sendOutcome(
        response,
        route,
        { output, json: null, position, replayed: false, unchanged: false, stale: false },
        { logId: ports.server.logId },
      );
    } catch (error) {
      if (error instanceof GatewayError && ERROR_TABLE[error.code].status === 429) {
        ports.accessLog.countRefusal(error.code, source);
      }
      throw error;
    }
  };
}
