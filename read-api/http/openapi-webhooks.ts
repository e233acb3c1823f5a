/** The webhooks of the OpenAPI document: the requests that the gateway sends, by event type. */
import { type WebhookKind, webhookKinds } from '../../commands/webhook-catalogue.ts';
import { TEST_EVENT_TYPE } from '../../commands/values/webhook-event.ts';
import type { Json } from './openapi-components.ts';
import { schemaOf } from './openapi-schemas.ts';

const HEADERS = {
  'webhook-id':
    'The id of the event: the same in every attempt and replay, so that a receiver can ignore repetitions.',
  'webhook-timestamp':
    'When this attempt was made, in seconds since 1970. Refuse an old one: it may be a copy from an attacker.',
  'webhook-signature':
    'As in Standard Webhooks, separated by spaces: v1, and the HMAC-SHA256 of id, timestamp and body for each live secret.',
} as const;

const RESPONSES = {
  WebhookReceived: 'Received. An answer after the deadline of the attempt counts as none.',
  WebhookGone: 'The endpoint is disabled.',
  WebhookFailed: 'The attempt failed. It is repeated later, but not after a redirect, which is not followed.',
} as const;

const ref = (kind: string, name: string): Json => ({ $ref: `#/components/${kind}/${name}` });

/** Components that every webhook refers to. */
export const WEBHOOK_COMPONENTS = {
  parameters: Object.fromEntries(
    Object.entries(HEADERS).map(([name, description]) => [
      name,
      { name, in: 'header', required: true, description, schema: { type: 'string' } },
    ]),
  ),
  responses: Object.fromEntries(
    Object.entries(RESPONSES).map(([name, description]) => [name, { description }]),
  ),
};

/** A test is never withheld: the caller who asks for it manages the endpoint. */
const bodyOf = ({ type, payload }: WebhookKind): Json =>
  type === TEST_EVENT_TYPE
    ? schemaOf(payload, 'output')
    : { anyOf: [schemaOf(payload, 'output'), ref('schemas', 'WithheldPayload')] };

const requestOf = (kind: WebhookKind): Json => ({
  summary: kind.when,
  security: [],
  parameters: Object.keys(HEADERS).map((name) => ref('parameters', name)),
  requestBody: { required: true, content: { 'application/json': { schema: bodyOf(kind) } } },
  responses: {
    '2XX': ref('responses', 'WebhookReceived'),
    '410': ref('responses', 'WebhookGone'),
    default: ref('responses', 'WebhookFailed'),
  },
});

export const openApiWebhooks = (): Json =>
  Object.fromEntries(webhookKinds.map((kind) => [kind.type, { post: requestOf(kind) }]));
