/** What the read model knows of webhooks: how endpoints answer, and every delivery. */
import type { EndedStatus, Trigger } from '../values/webhook-event.ts';
import type { Position } from '../values/position.ts';
import type { Sealed } from '../values/sealed.ts';

/** How an endpoint has answered lately. */
export interface EndpointHealth {
  /** The number of what was queued last. */
  readonly lastSequence: number;
  readonly consecutiveFailures: number;
  /** Of the present failures in a row. */
  readonly firstFailureAt: string | null;
  readonly lastSuccessAt: string | null;
  readonly lastFailureAt: string | null;
  /** No attempt is made before. */
  readonly notBefore: string | null;
  /** How often in a row the endpoint was left alone after failures; each time is twice as long. */
  readonly rests: number;
}

export interface DeliveryRow {
  readonly id: string;
  readonly endpointId: string;
  readonly orgId: string | null;
  /** The `webhook-id`. */
  readonly eventId: string;
  readonly eventType: string;
  readonly mailboxId: string | null;
  /** Of a message: the numbers of its folders; null where they are not known. */
  readonly folders: readonly number[] | null;
  readonly sequence: number | null;
  readonly trigger: Trigger;
  readonly attempt: number;
  /** Attempts that failed before this one. */
  readonly failures: number;
  readonly status: 'scheduled' | EndedStatus;
  readonly dueAt: string;
  readonly startedAt: string | null;
  readonly durationMs: number | null;
  readonly httpStatus: number | null;
  readonly errorCode: string | null;
  readonly responseExcerpt: Sealed | null;
  readonly withheld: boolean;
  /** Where in the log it ended; null until then. */
  readonly endedPosition: Position | null;
  readonly replayOf: string | null;
  readonly nextDeliveryId: string | null;
  /** When what the payload tells happened. */
  readonly occurredAt: string;
  /** When the first of these attempts was queued. */
  readonly queuedAt: string;
  /** The `data` of the payload. */
  readonly data: Readonly<Record<string, unknown>>;
}

/** A delivery as it is now: a scheduled one that a worker holds is in flight. */
export interface ListedDelivery extends Omit<DeliveryRow, 'status'> {
  readonly status: DeliveryRow['status'] | 'in_flight';
}

export interface ReplayQuery {
  readonly endpointId: string;
  readonly since: string;
  readonly status: EndedStatus | null;
}

export interface WebhookRecords {
  /** Null for an endpoint that the read model does not have (yet). */
  health(endpointId: string): Promise<EndpointHealth | null>;
  /** Null for one of another organisation, and for one that the read model does not have (yet). */
  delivery(orgId: string, deliveryId: string): Promise<ListedDelivery | null>;
  countEndpoints(orgId: string): Promise<number>;
  /** How many deliveries a replay of an endpoint would queue. */
  countReplayable(query: ReplayQuery): Promise<number>;
}
