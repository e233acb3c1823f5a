/** POST /webhook-endpoints/:endpoint_id/test: one signed payload now, and its outcome. */
import { z } from 'zod';
import { type Context, defineCapability } from '../kernel/capability.ts';
import type { WebhookResponse } from '../ports/webhook-port.ts';
import { GatewayError, notFound } from '../values/errors.ts';
import { withPrefix } from '../values/ids.ts';
import { TEST_EVENT_TYPE } from '../values/webhook-event.ts';
import type { DeliveryEnded } from './delivery-events.ts';
import { Delivery, deliveryOfKey, describeDelivery } from './delivery-payload.ts';
import { endedEntry, sealedExcerpt } from './ended-entry.ts';
import type { EndpointState } from './endpoint.ts';
import { EndpointId, endpointOf } from './endpoint-payload.ts';
import { requestTarget } from './request-target.ts';

const Input = z.strictObject({ endpoint_id: EndpointId });

export const testWebhookEndpoint = defineCapability<z.output<typeof Input>, Delivery>({
  name: 'test_webhook_endpoint',
  title: 'Test a webhook endpoint',
  summary: 'Sends a signed webhook_endpoint.test now and returns its outcome.',
  description:
    'Sends one payload of type webhook_endpoint.test, without a sequence, whatever the endpoint subscribes to. It is sent once, ' +
    'counts for nothing else, and works while the endpoint is paused or failing.',
  effect: 'write',
  access: { any: ['webhooks:manage'], steppedUp: true },
  rest: { method: 'post', path: '/webhook-endpoints/:endpoint_id/test' },
  tool: null,
  idempotency: {
    kind: 'claim',
    replay: (targetId, _, context) => deliveryOfKey(context, targetId),
  },
  input: Input,
  output: Delivery,
  handle: async ({ endpoint_id: endpointId }, context) => {
    const { ports, author } = context;
    const state = await endpointOf(context, endpointId);
    if (state.status === 'disabled') throw endpointDisabled();
    const target = await requestTarget(ports, endpointId, state);
    if (target === null) throw notFound('webhook endpoint');
    const deliveryId = await context.claim('obx');
    // A request that ended before its outcome was recorded sends again, under the same webhook-id.
    const eventId = withPrefix('evt', deliveryId);
    const timestamp = ports.clock.now().toISOString();
    const body = JSON.stringify({
      type: TEST_EVENT_TYPE,
      timestamp,
      data: { endpoint_id: endpointId },
    });
    const response = await ports.webhookSender.post({ endpointId, ...target, id: eventId, body });
    const ended: DeliveryEnded = {
      delivery_id: deliveryId,
      endpoint_id: endpointId,
      event_id: eventId,
      event_type: TEST_EVENT_TYPE,
      trigger: 'test',
      attempt: 1,
      sequence: null,
      next: null,
      not_before: null,
      withheld: false,
      ...(await outcomeOf(context, state, response)),
    };
    await ports.deliveryLog.record(endedEntry(author, ports.clock.now(), ended));
    return await describeTest(context, ended, timestamp);
  },
});

export const endpointDisabled = (): GatewayError =>
  new GatewayError(
    'endpoint_disabled',
    'The endpoint is disabled; set its status to active with PATCH first.',
  );

async function outcomeOf({ ports }: Context, state: EndpointState, response: WebhookResponse) {
  const { status, startedAt, durationMs, httpStatus, error } = response;
  return {
    status,
    failures: status === 'succeeded' ? 0 : 1,
    started_at: startedAt.toISOString(),
    duration_ms: durationMs,
    http_status: httpStatus,
    error: error === null ? null : { code: error },
    response_excerpt: await sealedExcerpt(ports, state, response),
  };
}

/** From the event itself: the read model may not have it yet. */
const describeTest = async (
  { ports, caller }: Context,
  ended: DeliveryEnded,
  timestamp: string,
): Promise<Delivery> =>
  await describeDelivery(ports, {
    id: ended.delivery_id,
    endpointId: ended.endpoint_id,
    orgId: caller.org.id,
    eventId: ended.event_id,
    eventType: ended.event_type,
    mailboxId: null,
    folders: null,
    sequence: null,
    trigger: ended.trigger,
    attempt: ended.attempt,
    failures: ended.failures,
    status: ended.status,
    dueAt: timestamp,
    startedAt: ended.started_at,
    durationMs: ended.duration_ms,
    httpStatus: ended.http_status,
    errorCode: ended.error?.code ?? null,
    responseExcerpt: ended.response_excerpt,
    withheld: false,
    endedPosition: null,
    replayOf: null,
    nextDeliveryId: null,
    occurredAt: timestamp,
    queuedAt: timestamp,
    data: { endpoint_id: ended.endpoint_id },
  });
