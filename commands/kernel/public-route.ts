/** A route that needs no bearer (`contract.md` 18), declared once like a capability; it exists only on REST. */
import type { z } from 'zod';
import type { Capability } from './capability.ts';
import type { Ports } from '../ports/ports.ts';
import type { Sealed } from '../values/sealed.ts';
import type { Position } from '../values/position.ts';
import type { ErrorCode } from '../values/errors.ts';
import { parseInput } from './invoke-capability.ts';
import { untilRightsKnown } from './rights-known.ts';

/** Every route of the REST adapter. */
export interface Routes {
  readonly registry: readonly Capability[];
  readonly publicRoutes: readonly AnyPublicRoute[];
}

/** The second argument of its handler; there is no caller. */
export interface PublicContext {
  readonly ports: Ports;
  readonly routes: Routes;
  readonly requestId: string;
  readonly surface: 'rest' | 'console';
  /** The client address, as an HMAC. */
  readonly source: string;
  /** Browser, system and network of the client, as an HMAC: the same for a person's later requests from there. */
  readonly device: string;
  /** Address and user agent under a principal's key. */
  readonly sealClient: (principalId: string) => Promise<Sealed>;
  /** Runs work after the response, so that its duration reveals nothing. Must not throw. */
  readonly afterAnswer: (work: () => void) => void;
  /** Sets the `Position` header of the response. */
  readonly notePosition: (position: Position | null) => void;
}

interface PublicRoute<Input = unknown, Output = unknown> {
  /** snake_case, distinct from all capabilities. */
  readonly name: string;
  readonly title: string;
  readonly summary: string;
  readonly description: string;
  /** Path under `/api/v1`. */
  readonly rest: {
    readonly method: 'get' | 'post';
    readonly path: string;
    readonly status: 200 | 201 | 202 | 204;
  };
  /** The codes it answers with besides those of every route. */
  readonly errors?: readonly ErrorCode[];
  /** A strict object: unknown fields are refused. */
  readonly input: z.ZodType<Input>;
  readonly output: z.ZodType<Output>;
  handle(input: Input, context: PublicContext): Promise<Output>;
}

/** A route without its input and output types; only `invokePublicRoute` parses the input for its handler. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- as for capabilities
export type AnyPublicRoute = PublicRoute<any, any>;

/** Checks the types of a declaration; returns it unchanged. */
export const definePublicRoute = <Input, Output>(
  route: PublicRoute<Input, Output>,
): PublicRoute<Input, Output> => route;

/** Throws a `GatewayError`; `store_unavailable` while this process may lack a change of rights. */
export async function invokePublicRoute(
  route: AnyPublicRoute,
  input: unknown,
  context: PublicContext,
): Promise<unknown> {
  await untilRightsKnown(context.ports.directory);
  return (await route.handle(parseInput(route.input, input), context)) as unknown;
}
