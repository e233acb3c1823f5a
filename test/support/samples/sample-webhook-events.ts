/** Samples of the events of webhooks, as in `sample-events.ts`. */
import type { AnyEvent } from '../../../commands/event-catalogue.ts';
import type { Sealed } from '../../../commands/values/sealed.ts';
import type { Fact } from '../../../commands/values/event.ts';

type Samples = {
  readonly [Type in Extract<AnyEvent['type'], `Webhook${string}`>]: Extract<
    Fact<AnyEvent>,
    { readonly type: Type }
  >['data'];
};

const sealed = 'sealed.v1.usr_1.AAAA' as Sealed;
const at = '2026-01-01T00:00:00.000Z';

export const WEBHOOK_EVENTS: Samples = {
  WebhookEndpointCreated: {
    url: sealed,
    description: null,
    event_types: ['message.received', 'approval.requested'],
    mailbox_ids: ['mbx_1'],
    payload: 'thin',
    created_by: 'usr_1',
    rights_of: 'usr_1',
    secret_id: 'whs_1',
    secret_hint: sealed,
  },
  WebhookEndpointChanged: { event_types: ['*'], payload: 'summary' },
  WebhookEndpointPaused: {},
  WebhookEndpointResumed: {},
  WebhookEndpointDisabled: { reason: 'gone' },
  WebhookSecretRotated: { secret_id: 'whs_2', secret_hint: sealed, previous_expires_at: at },
  WebhookEndpointRemoved: {},
  WebhookDeliveryReplayed: { delivery_id: 'obx_2', replay_of: 'obx_1' },
  WebhookReplayRequested: { since: at, status: 'failed', count: 3, claim_id: 'req_1' },
  WebhookDeliveriesQueued: {
    after: '41',
    notifications: [
      {
        event_id: 'evt_1',
        event_type: 'message.received',
        mailbox_id: 'mbx_1',
        folders: [1],
        occurred_at: at,
        data: { mailbox_id: 'mbx_1', message_id: 'msg_1' },
      },
    ],
    deliveries: [{ notification: 0, endpoint_id: 'whk_1', sequence: 1 }],
  },
  WebhookDeliveryEnded: {
    delivery_id: 'obx_1',
    endpoint_id: 'whk_1',
    event_id: 'evt_1',
    event_type: 'message.received',
    trigger: 'event',
    attempt: 1,
    failures: 1,
    sequence: 1,
    status: 'failed',
    started_at: at,
    duration_ms: 12,
    http_status: 500,
    error: { code: 'http_status' },
    response_excerpt: sealed,
    withheld: false,
    next: { delivery_id: 'obx_3', due_at: at },
    not_before: null,
  },
};
