/** The OpenAPI document of the routes that exist. */
import { z } from 'zod';
import { defineCapability } from '../../commands/kernel/capability.ts';
import { openApiDocument } from './openapi.ts';

const OpenApi = z.looseObject({ openapi: z.string(), paths: z.record(z.string(), z.unknown()) });

export const getOpenapi = defineCapability<Record<string, never>, z.output<typeof OpenApi>>({
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
  handle: async (_, { registry, ports }) => OpenApi.parse(openApiDocument(registry, ports.server)),
});
