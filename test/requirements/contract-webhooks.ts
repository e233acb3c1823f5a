import type { RequirementTable } from './requirement.ts';

/** Webhook endpoints and deliveries: section 11. */
export const contractWebhooks = {
  'contract:11:endpoint': [
    ['create_webhook_endpoint', 'list_webhook_endpoints', 'get_webhook_endpoint', 'delete_webhook_endpoint'],
    'An endpoint is created, listed, read, changed with If-Match and deleted; its secret is shown at creation and rotation only.',
  ],
  'contract:11:endpoint-mailboxes': [
    'create_webhook_endpoint',
    'mailbox_ids are mailboxes the caller may read; ["*"] needs an owner or admin; without mailbox_ids no event of a mailbox is sent.',
  ],
  'contract:11:endpoint-url': [
    'create_webhook_endpoint',
    'A URL that is malformed answers 400 with its path, one that leads to a private address 422 target_blocked.',
  ],
  'contract:11:event-types': [
    'create_webhook_endpoint',
    'An unknown event type answers 400 and lists the known ones; each has a schema in the OpenAPI document.',
  ],
  'contract:11:event-kinds': [
    'create_webhook_endpoint',
    'Every listed event type is sent from the events that exist.',
  ],
  'contract:11:step-up': [
    'create_webhook_endpoint',
    'Creating, changing, deleting an endpoint and rotating its secret need a stepped-up session, or a token with the scope.',
  ],
  'contract:11:signature': [
    'create_webhook_endpoint',
    'A payload is signed as Standard Webhooks says, once for each live secret.',
  ],
  'contract:11:webhook-id': [
    'create_webhook_endpoint',
    'webhook-id is the id of the event: the same for every attempt and replay.',
  ],
  'contract:11:sequence': [
    'create_webhook_endpoint',
    'sequence counts what is queued for an endpoint, from 1 without gaps, and is given at queueing.',
  ],
  'contract:11:payload': [
    'create_webhook_endpoint',
    'A payload is type, timestamp, data and sequence: ids and metadata, never bodies.',
  ],
  'contract:11:withheld': [
    'create_webhook_endpoint',
    'What the person behind an endpoint may not see at the attempt is sent as type, sequence and withheld.',
  ],
  'contract:11:at-least-once': [
    'create_webhook_endpoint',
    'Every queued event is delivered at least once, whatever process dies when; without a crash only once.',
  ],
  'contract:11:rebuild': [
    'create_webhook_endpoint',
    'What is due follows from the log: a rebuild resumes exactly and repeats nothing.',
  ],
  'contract:11:retries': [
    'create_webhook_endpoint',
    'A failed attempt is retried with growing pauses, ±20 %, and Retry-After is respected.',
  ],
  'contract:11:deadline': [
    'create_webhook_endpoint',
    'An attempt ends within its deadline, whatever the endpoint does; 64 KiB of a response are read at most.',
  ],
  'contract:11:no-redirects': [
    'create_webhook_endpoint',
    'A redirect is not followed; the attempt is blocked.',
  ],
  'contract:11:gone': ['create_webhook_endpoint', 'An endpoint that answers 410 is disabled.'],
  'contract:11:failing-disabled': [
    'create_webhook_endpoint',
    'An endpoint with only failures for 120 hours is disabled.',
  ],
  'contract:11:rests': [
    'create_webhook_endpoint',
    'An endpoint that fails ten times in a row is left alone for a while; nothing is dropped.',
  ],
  'contract:11:interrupted': [
    'create_webhook_endpoint',
    'An attempt whose process died, or whose outcome could not be recorded, is told as interrupted and made again.',
  ],
  'contract:11:deleted-organisation': [
    'create_webhook_endpoint',
    'While an organisation is deleted its deliveries wait; after a restore they are made, after the erasure cancelled.',
  ],
  'contract:11:fair-share': [
    'create_webhook_endpoint',
    'An endpoint that hangs does not delay those of others.',
  ],
  'contract:11:paused': [
    'update_webhook_endpoint',
    'A paused endpoint queues for up to 30 days, a disabled one nothing.',
  ],
  'contract:11:egress': [
    'create_webhook_endpoint',
    'A payload is sent to public addresses only, resolved once and pinned, unless EGRESS_ALLOW_WEBHOOKS opens others.',
  ],
  'contract:11:deliveries': [
    ['list_deliveries', 'get_delivery'],
    'Deliveries are listed by endpoint, status, event type and time, and read one by one.',
  ],
  'contract:11:replay': [
    'replay_delivery',
    'A replay is a new delivery with the same webhook-id and payload; it answers 409 when the endpoint is disabled or the payload is older than 30 days.',
  ],
  'contract:11:replay-since': [
    'replay_webhook_endpoint',
    'Everything queued for an endpoint since a time is replayed by one request, which answers how many.',
  ],
  'contract:11:rotate-overlap': [
    'rotate_webhook_secret',
    'The previous secret signs for the overlap, a day by default and a week at most; at most three are live.',
  ],
  'contract:11:test-outcome': [
    'test_webhook_endpoint',
    'A test sends a signed webhook_endpoint.test and answers with its outcome; it counts for nothing else.',
  ],
  'contract:11:await-delivery': ['list_deliveries', 'email.await waits for the end of deliveries.'],
  'contract:11:bounced': [
    'create_webhook_endpoint',
    'A delivery report is told as message.bounced and names the draft that was sent.',
  ],
} as const satisfies RequirementTable;
