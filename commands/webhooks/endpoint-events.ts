/** The events of a webhook endpoint. Its URL and description are sealed under the key of the person who created it. */
import { z } from 'zod';
import { defineEvent } from '../values/event.ts';
import { instant, sealedText } from '../values/event-fields.ts';
import { ENDED_STATUSES, WEBHOOK_EVENT_TYPES } from '../values/webhook-event.ts';

/** `thin`: ids. `summary`: also the summary of the message, for events of messages. */
export const PAYLOADS = ['thin', 'summary'] as const;
export type PayloadForm = (typeof PAYLOADS)[number];

/** `["*"]` stands for every event type, and every mailbox of the organisation. */
export const EVERY = '*';

const settings = {
  url: sealedText,
  description: sealedText.nullable(),
  event_types: z.array(z.enum([...WEBHOOK_EVENT_TYPES, EVERY])).min(1),
  /** Empty: no event of a mailbox is sent. */
  mailbox_ids: z.array(z.string()),
  payload: z.enum(PAYLOADS),
  /** The person whose rights decide what may be delivered: the one who last set any of these fields. */
  rights_of: z.string(),
};

export const WebhookEndpointCreated = defineEvent({
  type: 'WebhookEndpointCreated',
  summary: 'A webhook endpoint was created; matching events from now on are delivered to it.',
  data: z.object({
    ...settings,
    created_by: z.string(),
    /** The signing secret; the secret itself is stored encrypted, outside the log. */
    secret_id: z.string(),
    /** Its last four characters. */
    secret_hint: sealedText,
  }),
  webhook: null,
});

export const WebhookEndpointChanged = defineEvent({
  type: 'WebhookEndpointChanged',
  summary: 'Settings of a webhook endpoint were changed; absent fields stayed as they were.',
  data: z.object(settings).partial(),
  webhook: null,
});

export const WebhookEndpointPaused = defineEvent({
  type: 'WebhookEndpointPaused',
  summary: 'Deliveries to a webhook endpoint were paused; events are queued for up to 30 days.',
  data: z.object({}),
  webhook: null,
});

export const WebhookEndpointResumed = defineEvent({
  type: 'WebhookEndpointResumed',
  summary: 'A paused or disabled webhook endpoint is active again.',
  data: z.object({}),
  webhook: null,
});

const EndpointTold = z.string().describe('The webhook endpoint.');

/** `gone`: it answered 410. `failing`: only failures for five days. `rights_gone`: its person may no longer manage webhooks. */
export const DISABLE_REASONS = ['gone', 'failing', 'rights_gone'] as const;
export type DisableReason = (typeof DISABLE_REASONS)[number];

export const WebhookEndpointDisabled = defineEvent({
  type: 'WebhookEndpointDisabled',
  summary:
    'The gateway stopped delivering to an endpoint: it answered 410, every attempt failed for five days, or its person left.',
  data: z.object({ reason: z.enum(DISABLE_REASONS) }),
  webhook: {
    type: 'webhook_endpoint.disabled',
    data: z.object({
      endpoint_id: EndpointTold,
      reason: z
        .enum(DISABLE_REASONS)
        .describe('It answered 410, every attempt failed for five days, or its person left.'),
    }),
    adds: ({ subject }) => ({ endpoint_id: subject }),
  },
});

export const WebhookSecretRotated = defineEvent({
  type: 'WebhookSecretRotated',
  summary: 'A webhook endpoint got a new signing secret; the previous ones sign until the time named.',
  data: z.object({
    secret_id: z.string(),
    secret_hint: sealedText,
    /** When the previous secret stops signing, unless it ends earlier. */
    previous_expires_at: instant,
  }),
  webhook: {
    type: 'webhook_endpoint.secret_rotated',
    data: z.object({
      endpoint_id: EndpointTold,
      previous_secret_expires_at: instant.describe('Until then the previous secrets sign too.'),
    }),
    adds: ({ subject, data: { previous_expires_at } }) => ({
      endpoint_id: subject,
      previous_secret_expires_at: previous_expires_at,
    }),
  },
});

export const WebhookEndpointRemoved = defineEvent({
  type: 'WebhookEndpointRemoved',
  summary: 'A webhook endpoint was deleted; what was queued for it is cancelled.',
  data: z.object({}),
  webhook: null,
});

export const WebhookDeliveryReplayed = defineEvent({
  type: 'WebhookDeliveryReplayed',
  summary: 'A caller asked to send the payload of an earlier delivery again.',
  data: z.object({
    /** The new delivery. */
    delivery_id: z.string(),
    replay_of: z.string(),
  }),
  webhook: null,
});

export const WebhookReplayRequested = defineEvent({
  type: 'WebhookReplayRequested',
  summary: 'A caller asked to send again what was queued for an endpoint since a time.',
  data: z.object({
    since: instant,
    /** Only events whose latest delivery ended so; null = whatever its end. */
    status: z.enum(ENDED_STATUSES).nullable(),
    /** How many there were at the request. */
    count: z.int().min(0),
    /** The id that the request's claim chose: a repeat finds its event by it. */
    claim_id: z.string(),
  }),
  webhook: null,
});

export const endpointEvents = [
  WebhookEndpointCreated,
  WebhookEndpointChanged,
  WebhookEndpointPaused,
  WebhookEndpointResumed,
  WebhookEndpointDisabled,
  WebhookSecretRotated,
  WebhookEndpointRemoved,
  WebhookDeliveryReplayed,
  WebhookReplayRequested,
] as const;
export type EndpointEvent = (typeof endpointEvents)[number];
