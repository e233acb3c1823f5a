/** GET /deliveries and /deliveries/:delivery_id. */
import { z } from 'zod';
import { type Context, defineCapability } from '../../commands/kernel/capability.ts';
import type { ListedDelivery } from '../../commands/ports/webhook-records.ts';
import { notFound } from '../../commands/values/errors.ts';
import { InstantField } from '../../commands/values/input-fields.ts';
import { TEST_EVENT_TYPE, WEBHOOK_EVENT_TYPES } from '../../commands/values/webhook-event.ts';
import { Delivery, DELIVERY_STATUSES, describeDelivery } from '../../commands/webhooks/delivery-payload.ts';
import { EndpointId, reachesEndpoint } from '../../commands/webhooks/endpoint-payload.ts';
import { listDeliveries as queryDeliveries, listEndpoints } from '../../projections/webhook-queries.ts';
import { collectionOf, pageFields, pageOfRows } from '../paging/page.ts';

const Deliveries = collectionOf(Delivery);
const ListInput = z.strictObject({
  ...pageFields,
  endpoint_id: EndpointId.optional(),
  status: z.enum(DELIVERY_STATUSES).optional(),
  event_type: z.enum([...WEBHOOK_EVENT_TYPES, TEST_EVENT_TYPE]).optional(),
  from: InstantField.optional().describe('Events that occurred from then on.'),
  to: InstantField.optional().describe('Events that occurred before.'),
});

export const listDeliveries = defineCapability<z.output<typeof ListInput>, z.output<typeof Deliveries>>({
  name: 'list_deliveries',
  title: 'List deliveries',
  summary: 'Attempts to deliver webhooks and those still to be made, newest first.',
  description:
    'Every attempt has its outcome, its duration and the start of the response; one that failed names the next. Filter by ' +
    'endpoint, status, event type and the time of the event.',
  effect: 'read',
  access: { any: ['deliveries:read'] },
  rest: { method: 'get', path: '/deliveries' },
  tool: null,
  idempotency: { kind: 'none' },
  input: ListInput,
  output: Deliveries,
  handle: async ({ limit, cursor, ...filter }, context) => {
    const { caller, ports } = context;
    const { endpoint_id = null, status = null, event_type = null, from, to } = filter;
    const isShown = await sightOf(context);
    const request = { limit, cursor };
    return await pageOfRows(context, { route: 'deliveries', query: filter }, request, {
      query: (before, most) =>
        queryDeliveries(ports.sql, {
          orgId: caller.org.id,
          endpointId: endpoint_id,
          status,
          eventType: event_type,
          from: instantOf(from),
          to: instantOf(to),
          before,
          limit: most,
        }),
      isShown,
      describe: (row) => describeDelivery(ports, row),
    });
  },
});

const instantOf = (text: string | undefined): string | null =>
  text === undefined ? null : new Date(text).toISOString();

/** Which deliveries the caller sees: a token limited to mailboxes those of the endpoints it reaches. */
export async function sightOf({
  caller,
  ports,
}: Pick<Context, 'caller' | 'ports'>): Promise<(row: ListedDelivery) => boolean> {
  if (caller.token.mailboxIds === null) return () => true;
  const all = { orgId: caller.org.id, before: null, limit: MOST_ENDPOINTS_READ };
  const endpoints = await listEndpoints(ports.sql, all);
  const reached = new Set(
    endpoints.filter(({ state }) => reachesEndpoint(caller, state)).map(({ id }) => id),
  );
  return ({ endpointId }) => reached.has(endpointId);
}

/** Above the number of endpoints that an organisation can have. */
const MOST_ENDPOINTS_READ = 200;

const GetInput = z.strictObject({ delivery_id: z.string().min(1).max(64) });

export const getDelivery = defineCapability<z.output<typeof GetInput>, Delivery>({
  name: 'get_delivery',
  title: 'Get a delivery',
  summary: 'One delivery of a webhook and its outcome.',
  description: 'The payload, when it is or was due, and the outcome of the attempt.',
  effect: 'read',
  access: { any: ['deliveries:read'] },
  rest: { method: 'get', path: '/deliveries/:delivery_id' },
  tool: null,
  idempotency: { kind: 'none' },
  input: GetInput,
  output: Delivery,
  handle: async ({ delivery_id }, context) => {
    const { caller, ports } = context;
    const row = await ports.webhookRecords.delivery(caller.org.id, delivery_id);
    const sees = await sightOf(context);
    if (row === null || !sees(row)) throw notFound('delivery');
    return await describeDelivery(ports, row);
  },
});
