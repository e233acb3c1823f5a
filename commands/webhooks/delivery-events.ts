/**
 * The events of deliveries. `WebhookDeliveriesQueued` says what is sent to whom, under which number: one stream,
 * `webhookQueue-all`, whose end is also how far the log was searched. `WebhookDeliveryEnded` is the outcome of one attempt:
 * stream `webhookDeliveries-<run id>-<yyyymmddhh>` of the process that made it.
 */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { defineEvent } from '../values/event.ts';
import { instant, sealedText } from '../values/event-fields.ts';
import { toBase32 } from '../values/ids.ts';
import {
  DELIVERY_ERRORS,
  ENDED_STATUSES,
  TEST_EVENT_TYPE,
  TRIGGERS,
  WEBHOOK_EVENT_TYPES,
} from '../values/webhook-event.ts';

const position = z.string().regex(/^\d{1,19}$/);

/** What is sent, to one endpoint or several. */
export const QueuedNotice = z.object({
  /** The `webhook-id`: the same for all attempts and replays. */
  event_id: z.string(),
  event_type: z.enum(WEBHOOK_EVENT_TYPES),
  mailbox_id: z.string().nullable(),
  folders: z.array(z.int()).nullable(),
  occurred_at: instant,
  /** The `data` of the payload. */
  data: z.record(z.string(), z.json()),
});

export const WebhookDeliveriesQueued = defineEvent({
  type: 'WebhookDeliveriesQueued',
  summary: 'Events of the log were queued for the webhook endpoints that subscribe to them.',
  data: z.object({
    /** The position of the last event that was searched; the next search begins after it. */
    after: position,
    /** So many notifications of the event that follows are queued too; absent = none. An event that tells much takes several appends. */
    told: z.int().min(1).optional(),
    notifications: z.array(QueuedNotice),
    /** Each sends one of the notifications, by its place in the list. */
    deliveries: z.array(
      z.object({ notification: z.int().min(0), endpoint_id: z.string(), sequence: z.int().min(1) }),
    ),
  }),
  webhook: null,
});
export type DeliveriesQueued = z.output<typeof WebhookDeliveriesQueued.data>;

/** The one stream of queued deliveries; written by one leader at the exact revision. */
export const QUEUE_STREAM = 'webhookQueue-all';

export const WebhookDeliveryEnded = defineEvent({
  type: 'WebhookDeliveryEnded',
  summary: 'An attempt to deliver a webhook ended; it names the next attempt, if there is one.',
  data: z.object({
    delivery_id: z.string(),
    endpoint_id: z.string(),
    /** The `webhook-id`: the same for all attempts and replays of one event. */
    event_id: z.string(),
    event_type: z.enum([...WEBHOOK_EVENT_TYPES, TEST_EVENT_TYPE]),
    trigger: z.enum(TRIGGERS),
    /** Counts from 1. */
    attempt: z.int().min(1),
    /** Attempts that failed, this one included; an interrupted one is not counted. */
    failures: z.int().min(0),
    /** Null for a test, which has no place in the sequence of the endpoint. */
    sequence: z.int().min(1).nullable(),
    status: z.enum(ENDED_STATUSES),
    /** Null when no request was begun. */
    started_at: instant.nullable(),
    duration_ms: z.int().nullable(),
    http_status: z.int().nullable(),
    error: z.object({ code: z.enum(DELIVERY_ERRORS) }).nullable(),
    /** At most 1 KiB of the response, sealed under the key of the endpoint's creator. */
    response_excerpt: sealedText.nullable(),
    /** The payload said only that an event is withheld: the creator of the endpoint may not see it any more. */
    withheld: z.boolean(),
    next: z.object({ delivery_id: z.string(), due_at: instant }).nullable(),
    /** No attempt is made to this endpoint before that time: it asked for a pause. */
    not_before: instant.nullable(),
  }),
  webhook: null,
});

export const deliveryEvents = [WebhookDeliveriesQueued, WebhookDeliveryEnded] as const;
export type DeliveryEnded = z.output<typeof WebhookDeliveryEnded.data>;

/**
 * The id of a delivery: 48 bits of a time, 80 bits of a hash of what it is. The same in every rebuild, and ids sort by time.
 *
 * `cause`: the `webhook-id` of a first attempt; the delivery before it, of a retry; the request and the `webhook-id`, of a replay.
 */
export function deliveryId(at: Date, endpointId: string, cause: readonly string[]): string {
  const bytes = Buffer.alloc(16);
  bytes.writeUIntBE(at.getTime(), 0, 6);
  const hash = createHash('sha256')
    .update([endpointId, ...cause].join('\u0000'))
    .digest();
  bytes.set(hash.subarray(0, 10), 6);
  return `obx_${toBase32(bytes)}`;
}
