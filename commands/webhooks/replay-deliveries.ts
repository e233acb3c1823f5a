/** Sending again: one delivery, or everything an endpoint was sent since a time. */
import { z } from 'zod';
import { type Context, defineCapability } from '../kernel/capability.ts';
import { decideAndAppend } from '../kernel/decide-and-append.ts';
import type { ListedDelivery } from '../ports/webhook-records.ts';
import { GatewayError, notFound } from '../values/errors.ts';
import type { Fact } from '../values/event.ts';
import { InstantField } from '../values/input-fields.ts';
import { ENDED_STATUSES } from '../values/webhook-event.ts';
import { Delivery, deliveryOfKey, describeDelivery } from './delivery-payload.ts';
import { type EndpointState, webhookEndpoint } from './endpoint.ts';
import { type EndpointEvent, WebhookReplayRequested } from './endpoint-events.ts';
import { EndpointId, endpointOf } from './endpoint-payload.ts';
import { endpointDisabled } from './test-endpoint.ts';

const ReplayInput = z.strictObject({ delivery_id: z.string().min(1).max(64) });

export const replayDelivery = defineCapability<z.output<typeof ReplayInput>, Delivery>({
  name: 'replay_delivery',
  title: 'Replay a delivery',
  summary: 'Sends the payload of an ended delivery again, as a new delivery.',
  description:
    'Queues the same payload under the same webhook-id, whatever the outcome of the delivery was; a receiver that remembers ' +
    'webhook-ids ignores it. A payload is kept for 30 days.',
  effect: 'write',
  access: { any: ['deliveries:replay'] },
  rest: {
    method: 'post',
    path: '/deliveries/:delivery_id/replay',
    status: 201,
    location: ({ id }) => `/deliveries/${id}`,
  },
  tool: null,
  idempotency: {
    kind: 'claim',
    required: true,
    replay: (targetId, _, context) => deliveryOfKey(context, targetId),
  },
  input: ReplayInput,
  output: Delivery,
  handle: async ({ delivery_id: sourceId }, context) => {
    const { caller, ports } = context;
    const source = await ports.webhookRecords.delivery(caller.org.id, sourceId);
    if (source === null) throw notFound('delivery');
    await replayableEndpoint(context, source.endpointId);
    assertReplayable(source, new Date(ports.clock.now().getTime() - ports.server.webhookTimes.keptForMs));
    const id = await context.claim('obx');
    const now = await ask(context, source.endpointId, {
      type: 'WebhookDeliveryReplayed',
      data: { delivery_id: id, replay_of: sourceId },
    });
    return await describeDelivery(ports, {
      ...source,
      id,
      trigger: 'replay',
      attempt: 1,
      failures: 0,
      status: 'scheduled',
      dueAt: now,
      queuedAt: now,
      startedAt: null,
      durationMs: null,
      httpStatus: null,
      errorCode: null,
      responseExcerpt: null,
      withheld: false,
      endedPosition: null,
      replayOf: sourceId,
      nextDeliveryId: null,
    });
  },
});

/** Throws `conflict` when it has not ended, is a test, or its payload is no longer kept. */
function assertReplayable({ status, trigger, occurredAt }: ListedDelivery, keptSince: Date): void {
  const why =
    status === 'scheduled' || status === 'in_flight'
      ? 'The delivery has not ended yet; wait for its outcome.'
      : trigger === 'test'
        ? 'A test is not replayed; send another one.'
        : new Date(occurredAt) < keptSince
          ? 'The payload of this delivery is no longer kept; get what its ids name instead.'
          : null;
  if (why !== null) throw new GatewayError('conflict', why);
}

/**
 * Throws `endpoint_disabled` also for a deleted endpoint, whose deliveries are still listed; `not_found` when the caller sees no
 * deliveries of it.
 */
async function replayableEndpoint(context: Context, endpointId: string): Promise<EndpointState> {
  const state = await endpointOf(context, endpointId).catch((error: unknown) => {
    if (!(error instanceof GatewayError && error.code === 'not_found')) throw error;
    // A caller limited to mailboxes sees the deliveries of present endpoints that it reaches, and no others.
    throw context.caller.token.mailboxIds === null ? endpointDeleted() : notFound('delivery');
  });
  if (state.status === 'disabled') throw endpointDisabled();
  return state;
}

const endpointDeleted = (): GatewayError =>
  new GatewayError('endpoint_disabled', 'The endpoint was deleted; create another one for later events.');

/** Appends to the endpoint's stream unless it was disabled meanwhile; the time of the event. */
async function ask(context: Context, endpointId: string, fact: Fact<EndpointEvent>): Promise<string> {
  const { writer, author } = context;
  let at = '';
  const { position } = await decideAndAppend(writer, author, webhookEndpoint, {
    id: endpointId,
    decide: ({ status }, now) => {
      if (status !== 'active' && status !== 'paused') throw endpointDisabled();
      at = now.toISOString();
      return [fact];
    },
  });
  context.notePosition(position);
  return at;
}

/** More are asked for in several requests. */
const MOST_REPLAYED = 10_000;

const ReplaySinceInput = z.strictObject({
  endpoint_id: EndpointId,
  since: InstantField.describe('Events that occurred from then on; at most 30 days ago.'),
  status: z
    .enum(ENDED_STATUSES)
    .optional()
    .describe('Only events whose latest delivery ended so; absent = whatever its end.'),
});
const Replayed = z.object({ count: z.int().describe('How many deliveries are queued.') });
type Replayed = z.output<typeof Replayed>;

export const replayWebhookEndpoint = defineCapability<z.output<typeof ReplaySinceInput>, Replayed>({
  name: 'replay_webhook_endpoint',
  title: 'Replay the deliveries of an endpoint',
  summary: 'Sends again what an endpoint was sent since a time.',
  description:
    'Queues the payload of each event since then once more, under its webhook-id. Use it with status failed after an outage of ' +
    'the receiver.',
  effect: 'write',
  access: { any: ['deliveries:replay'] },
  rest: { method: 'post', path: '/webhook-endpoints/:endpoint_id/replay', status: 202 },
  tool: null,
  idempotency: {
    kind: 'claim',
    required: true,
    replay: async (targetId, { endpoint_id }, { ports }) => {
      const stored = await ports.events.readStream(`${webhookEndpoint.category}-${endpoint_id}`);
      const asked = stored.findLast(({ data }) => data['claim_id'] === targetId);
      return asked ? { count: WebhookReplayRequested.data.parse(asked.data).count } : null;
    },
  },
  input: ReplaySinceInput,
  output: Replayed,
  handle: async ({ endpoint_id: endpointId, since: from, status = null }, context) => {
    const { ports } = context;
    const state = await endpointOf(context, endpointId);
    if (state.status === 'disabled') throw endpointDisabled();
    const since = new Date(from);
    const keptSince = ports.clock.now().getTime() - ports.server.webhookTimes.keptForMs;
    if (since.getTime() < keptSince) throw refuse('Payloads are kept for 30 days; choose a later time.');
    const query = { endpointId, since: since.toISOString(), status };
    const count = await ports.webhookRecords.countReplayable(query);
    if (count > MOST_REPLAYED)
      throw refuse(
        `These are ${String(count)} deliveries; at most ${String(MOST_REPLAYED)} are replayed at once.`,
      );
    const claimId = await context.claim('req');
    await ask(context, endpointId, {
      type: 'WebhookReplayRequested',
      data: { since: query.since, status, count, claim_id: claimId },
    });
    return { count };
  },
});

const refuse = (message: string): GatewayError =>
  new GatewayError('invalid_request', message, {
    details: { issues: [{ path: 'since', code: 'custom', message }] },
  });
