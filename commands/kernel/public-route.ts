/** A route that needs no bearer (`contract.md` 18), declared once like a capability; it exists on REST alone. */
import type { z } from 'zod';
import type { Capability } from './capability.ts';
import type { Ports } from '../ports/ports.ts';
import type { Sealed } from '../values/sealed.ts';
import type { Position } from '../values/position.ts';
import { GatewayError } from '../values/errors.ts';
import { parseInput } from './invoke-capability.ts';

/** Every route of the REST face. */
export interface Routes {
  readonly registry: readonly Capability[];
  readonly publicRoutes: readonly AnyPublicRoute[];
}

/** What such a route gets beside its input: there is no caller. */
export interface PublicContext {
  readonly ports: Ports;
  readonly routes: Routes;
  readonly requestId: string;
  readonly surface: 'rest' | 'console';
  /** Tells addresses apart, as an HMAC. */
  readonly source: string;
  /** Address and user agent under a principal's key. */
  readonly sealClient: (principalId: string) => Promise<Sealed>;
  /** Runs once the answer is out, for what must not be seen in how long it takes. Must not throw. */
  readonly afterAnswer: (work: () => void) => void;
  /** Tells the answer's `Position` header. */
  readonly notePosition: (position: Position | null) => void;
}

export interface PublicRoute<Input = unknown, Output = unknown> {
  /** snake_case, apart from every capability's. */
  readonly name: string;
  readonly title: string;
  readonly summary: string;
  readonly description: string;
  /** Path under `/api/v1`. */
  readonly rest: { readonly method: 'get' | 'post'; readonly path: string; readonly status: 200 | 201 | 204 };
  /** A strict object: unknown fields are refused. */
  readonly input: z.ZodType<Input>;
  readonly output: z.ZodType<Output>;
  handle(input: Input, context: PublicContext): Promise<Output>;
}

/** A route as the face holds it, its input and output types forgotten: only `invokePublicRoute` brings them together again. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- as for capabilities
export type AnyPublicRoute = PublicRoute<any, any>;

/** Checks a declaration's types; the object itself is left as written. */
export const definePublicRoute = <Input, Output>(
  route: PublicRoute<Input, Output>,
): PublicRoute<Input, Output> => route;

/** Throws a `GatewayError`; `store_unavailable` while this process may lack a change of rights. */
export async function invokePublicRoute(
  route: AnyPublicRoute,
  input: unknown,
  context: PublicContext,
): Promise<unknown> {
  if (!context.ports.directory.isCurrent) {
    throw new GatewayError('store_unavailable', 'Access rights are being loaded; try again.');
  }
  return (await route.handle(parseInput(route.input, input), context)) as unknown;
}
