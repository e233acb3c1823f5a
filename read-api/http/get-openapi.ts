/** The OpenAPI document of the routes that exist. */
import { z } from 'zod';
import { type Capability, defineCapability } from '../../commands/kernel/capability.ts';
import type { ServerInfo } from '../../commands/kernel/ports.ts';
import { publicRoutes } from '../public-routes.ts';
import { openApiDocument } from './openapi.ts';

const OpenApi = z.looseObject({ openapi: z.string(), paths: z.record(z.string(), z.unknown()) });
type OpenApi = z.output<typeof OpenApi>;

/** It is the same for as long as the process runs. */
const documents = new WeakMap<ServerInfo, OpenApi>();

function documentOf(registry: readonly Capability[], server: ServerInfo): OpenApi {
  const known = documents.get(server);
  if (known) return known;
  const document = OpenApi.parse(openApiDocument({ registry, publicRoutes }, server));
  documents.set(server, document);
  return document;
}

export const getOpenapi = defineCapability<Record<string, never>, OpenApi>({
  name: 'get_openapi',
  title: 'OpenAPI document',
  summary: 'This API as an OpenAPI 3.1 document.',
  description: 'Every route that exists, with its schemas and errors.',
  effect: 'read',
  access: 'any-token',
  rest: { method: 'get', path: '/openapi.json' },
  tool: null,
  idempotency: { kind: 'none' },
  input: z.strictObject({}),
  output: OpenApi,
  handle: async (_, { registry, ports }) => documentOf(registry, ports.server),
});
