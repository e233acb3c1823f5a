/** GET /webhook-endpoints and /webhook-endpoints/:endpoint_id. */
import { z } from 'zod';
import { defineCapability } from '../../commands/kernel/capability.ts';
import {
  describeEndpoint,
  endpointEtag,
  EndpointId,
  endpointOf,
  reachesEndpoint,
  WebhookEndpoint,
} from '../../commands/webhooks/endpoint-payload.ts';
import { listEndpoints } from '../../projections/webhook-queries.ts';
import { collectionOf, type CursorBinding, pageFields, pageOfRows } from '../paging/page.ts';

const Endpoints = collectionOf(WebhookEndpoint);
const ListInput = z.strictObject(pageFields);
const BINDING: CursorBinding = { route: 'webhook-endpoints', query: null };

export const listWebhookEndpoints = defineCapability<z.output<typeof ListInput>, z.output<typeof Endpoints>>({
  name: 'list_webhook_endpoints',
  title: 'List webhook endpoints',
  summary: 'Webhook endpoints of the organisation and how they answer, newest first.',
  description:
    'Each with its settings, its status and how it has answered lately. Secrets are never shown again.',
  effect: 'read',
  access: { any: ['webhooks:read'] },
  rest: { method: 'get', path: '/webhook-endpoints' },
  tool: null,
  idempotency: { kind: 'none' },
  input: ListInput,
  output: Endpoints,
  handle: async (input, context) => {
    const { caller, ports } = context;
    return await pageOfRows(context, BINDING, input, {
      query: (before, limit) => listEndpoints(ports.sql, { orgId: caller.org.id, before, limit }),
      isShown: ({ state }) => reachesEndpoint(caller, state),
      describe: ({ id, state, health }) => describeEndpoint(ports, id, state, health),
    });
  },
});

const GetInput = z.strictObject({ endpoint_id: EndpointId });

export const getWebhookEndpoint = defineCapability<z.output<typeof GetInput>, WebhookEndpoint>({
  name: 'get_webhook_endpoint',
  title: 'Get a webhook endpoint',
  summary: 'One webhook endpoint and how it answers.',
  description: 'Its settings, its status and how it has answered lately.',
  effect: 'read',
  access: { any: ['webhooks:read'] },
  rest: { method: 'get', path: '/webhook-endpoints/:endpoint_id' },
  tool: null,
  idempotency: { kind: 'none' },
  input: GetInput,
  output: WebhookEndpoint,
  etag: endpointEtag,
  handle: async ({ endpoint_id: id }, context) => {
    const { ports } = context;
    const state = await endpointOf(context, id);
    return await describeEndpoint(ports, id, state, await ports.webhookRecords.health(id));
  },
});
