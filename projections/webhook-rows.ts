/** Rows of the read model `webhooks`: how they are read, and changed by an event. */
import {
  type DeliveriesQueued,
  type DeliveryEnded,
  deliveryId,
} from '../commands/webhooks/delivery-events.ts';
import {
  type EndpointState,
  type EndpointStatus,
  type SigningSecret,
  webhookEndpoint,
} from '../commands/webhooks/endpoint.ts';
import type { AnyEvent } from '../commands/event-catalogue.ts';
import type { PastFact } from '../commands/values/event.ts';
import type { EndpointEvent, PayloadForm } from '../commands/webhooks/endpoint-events.ts';
import { NEW_HEALTH } from '../commands/webhooks/endpoint-health.ts';
import type { DeliveryRow, EndpointHealth } from '../commands/ports/webhook-records.ts';
import type { Trigger } from '../commands/values/webhook-event.ts';
import type { Position } from '../commands/values/position.ts';
import type { Sealed } from '../commands/values/sealed.ts';

/** True for an event of the stream of an endpoint. */
export const isEndpointEvent = (fact: PastFact<AnyEvent>): fact is PastFact<EndpointEvent> =>
  webhookEndpoint.catalogue.has(fact.type);

/** False for an event that changes no row of the model. */
export const concernsWebhooks = (fact: PastFact<AnyEvent>): boolean =>
  isEndpointEvent(fact) || fact.type === 'WebhookDeliveriesQueued' || fact.type === 'WebhookDeliveryEnded';

export interface EndpointRow {
  readonly id: string;
  readonly orgId: string | null;
  readonly state: EndpointState;
  readonly health: EndpointHealth;
}

export const NEW_ENDPOINT: Pick<EndpointRow, 'state' | 'health'> = {
  state: webhookEndpoint.initial,
  health: NEW_HEALTH,
};

/** A row as Postgres returns it. */
export type Stored = Readonly<Record<string, unknown>>;

const time = (value: unknown): string | null => (value instanceof Date ? value.toISOString() : null);
const number = (value: unknown): number | null => (value === null ? null : Number(value));

/** The endpoint in a row of its table. */
export function readEndpoint(row: Stored): EndpointRow {
  const status = row['status'] as EndpointStatus;
  return {
    id: row['id'] as string,
    orgId: row['org_id'] as string | null,
    state: {
      createdBy: row['created_by'] as string | null,
      rightsOf: row['rights_of'] as string | null,
      url: row['url'] as Sealed | null,
      description: row['description'] as Sealed | null,
      eventTypes: row['event_types'] as readonly string[],
      mailboxIds: row['mailbox_ids'] as readonly string[],
      payload: row['payload'] as PayloadForm,
      status: status === 'failing' ? 'active' : status,
      disabledReason: row['disabled_reason'] as EndpointState['disabledReason'],
      secrets: row['secrets'] as readonly SigningSecret[],
      secretHint: row['secret_hint'] as Sealed | null,
      version: Number(row['version']),
      createdAt: time(row['created_at']),
      updatedAt: time(row['updated_at']),
    },
    health: {
      lastSequence: Number(row['last_sequence']),
      consecutiveFailures: Number(row['consecutive_failures']),
      firstFailureAt: time(row['first_failure_at']),
      lastSuccessAt: time(row['last_success_at']),
      lastFailureAt: time(row['last_failure_at']),
      notBefore: time(row['not_before']),
      rests: Number(row['rests']),
    },
  };
}

/** The delivery in a row of its table. */
export const readDelivery = (row: Stored): DeliveryRow => ({
  id: row['id'] as string,
  endpointId: row['endpoint_id'] as string,
  orgId: row['org_id'] as string | null,
  eventId: row['event_id'] as string,
  eventType: row['event_type'] as string,
  mailboxId: row['mailbox_id'] as string | null,
  folders: row['folders'] as readonly number[] | null,
  sequence: number(row['sequence']),
  trigger: row['trigger'] as Trigger,
  attempt: Number(row['attempt']),
  failures: Number(row['failures']),
  status: row['status'] as DeliveryRow['status'],
  dueAt: time(row['due_at']) ?? '',
  startedAt: time(row['started_at']),
  durationMs: number(row['duration_ms']),
  httpStatus: number(row['http_status']),
  errorCode: row['error_code'] as string | null,
  responseExcerpt: row['response_excerpt'] as Sealed | null,
  withheld: row['withheld'] === true,
  endedPosition: row['ended_position'] === null ? null : BigInt(row['ended_position'] as string),
  replayOf: row['replay_of'] as string | null,
  nextDeliveryId: row['next_delivery_id'] as string | null,
  occurredAt: time(row['occurred_at']) ?? '',
  queuedAt: time(row['queued_at']) ?? '',
  data: row['data'] as Readonly<Record<string, unknown>>,
});

/** As much of a delivery as decides whether an outcome still counts. */
export type BriefDelivery = Pick<DeliveryRow, 'id' | 'endpointId' | 'status' | 'startedAt' | 'errorCode'>;
export const BRIEF_COLUMNS = 'id, endpoint_id, status, started_at, error_code';

export const readBrief = (row: Stored): BriefDelivery => ({
  id: row['id'] as string,
  endpointId: row['endpoint_id'] as string,
  status: row['status'] as DeliveryRow['status'],
  startedAt: time(row['started_at']),
  errorCode: row['error_code'] as string | null,
});

/** A delivery that was not tried yet. */
export const UNTRIED = {
  status: 'scheduled',
  startedAt: null,
  durationMs: null,
  httpStatus: null,
  errorCode: null,
  responseExcerpt: null,
  withheld: false,
  endedPosition: null,
  nextDeliveryId: null,
} as const;

export const notTried = (row: DeliveryRow): DeliveryRow => ({ ...row, ...UNTRIED });

export const outcomeOf = (ended: DeliveryEnded, position: Position) => ({
  endedPosition: position,
  status: ended.status,
  startedAt: ended.started_at,
  durationMs: ended.duration_ms,
  httpStatus: ended.http_status,
  errorCode: ended.error?.code ?? null,
  responseExcerpt: ended.response_excerpt,
  withheld: ended.withheld,
});

/** The first attempt of what was queued for an endpoint. */
export const queuedRow = (
  notification: DeliveriesQueued['notifications'][number],
  { id: endpointId, orgId }: EndpointRow,
  sequence: number,
): DeliveryRow => {
  const { event_id, event_type, mailbox_id, folders, occurred_at, data } = notification;
  return {
    ...UNTRIED,
    id: deliveryId(new Date(occurred_at), endpointId, [event_id]),
    endpointId,
    orgId,
    eventId: event_id,
    eventType: event_type,
    mailboxId: mailbox_id,
    folders,
    sequence,
    trigger: 'event',
    attempt: 1,
    failures: 0,
    dueAt: occurred_at,
    replayOf: null,
    occurredAt: occurred_at,
    queuedAt: occurred_at,
    data,
  };
};

/** The attempt that follows one that failed. */
export const retryOf = (
  row: DeliveryRow,
  next: { readonly delivery_id: string; readonly due_at: string; readonly failures: number },
): DeliveryRow => ({
  ...notTried(row),
  id: next.delivery_id,
  trigger: 'retry',
  attempt: row.attempt + 1,
  failures: next.failures,
  dueAt: next.due_at,
});

export const testRow = (
  ended: DeliveryEnded,
  position: Position,
  at: string,
  orgId: string | null,
): DeliveryRow => ({
  id: ended.delivery_id,
  endpointId: ended.endpoint_id,
  orgId,
  eventId: ended.event_id,
  eventType: ended.event_type,
  mailboxId: null,
  folders: null,
  sequence: null,
  trigger: 'test',
  attempt: 1,
  failures: 0,
  dueAt: ended.started_at ?? at,
  replayOf: null,
  nextDeliveryId: null,
  occurredAt: ended.started_at ?? at,
  queuedAt: ended.started_at ?? at,
  data: { endpoint_id: ended.endpoint_id },
  ...outcomeOf(ended, position),
});
