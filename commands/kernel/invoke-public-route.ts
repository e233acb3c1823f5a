/** The one path of every call that needs no bearer: parse → handle. */
import { GatewayError } from '../values/errors.ts';
import { parseInput } from './invoke-capability.ts';
import type { AnyPublicRoute, PublicContext } from './public-route.ts';

/** Throws a `GatewayError`; `store_unavailable` while this process may lack a change of rights. */
export async function invokePublicRoute(
  route: AnyPublicRoute,
  input: unknown,
  context: PublicContext,
): Promise<unknown> {
  if (!context.ports.directory.isCurrent) {
    throw new GatewayError('store_unavailable', 'It is not known now who may do what; try again.');
  }
  return (await route.handle(parseInput(route.input, input), context)) as unknown;
}
