/** A delivery as the API returns it: one attempt, or one that is still to be made. */
import { z } from 'zod';
import type { Context } from '../kernel/capability.ts';
import { keyInProgress } from '../kernel/idempotency.ts';
import type { Ports } from '../ports/ports.ts';
import type { ListedDelivery } from '../ports/webhook-records.ts';
import { ENDED_STATUSES, TRIGGERS } from '../values/webhook-event.ts';
import { endpointOf } from './endpoint-payload.ts';

export const DELIVERY_STATUSES = ['scheduled', 'in_flight', ...ENDED_STATUSES] as const;
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];

export const Delivery = z.object({
  id: z.string(),
  endpoint_id: z.string(),
  event_id: z.string().describe('The webhook-id: the same for every attempt and replay of one event.'),
  event_type: z.string(),
  trigger: z.enum(TRIGGERS),
  attempt: z.int(),
  status: z.enum(DELIVERY_STATUSES),
  due_at: z.string(),
  started_at: z.string().nullable(),
  duration_ms: z.int().nullable(),
  http_status: z.int().nullable(),
  error: z.object({ code: z.string() }).nullable(),
  response_excerpt: z.string().nullable().describe('At most 1 KiB of the response.'),
  replay_of: z.string().nullable(),
  next_delivery_id: z.string().nullable().describe('The next attempt, after one that failed.'),
  payload: z
    .object({
      type: z.string(),
      timestamp: z.string(),
      sequence: z.int().nullable(),
      data: z.record(z.string(), z.unknown()),
    })
    .describe('What is sent, without the summary of a message.'),
  withheld: z
    .boolean()
    .describe('Only type and sequence were sent: the person behind the endpoint may not see the event.'),
});
export type Delivery = z.output<typeof Delivery>;

/** The excerpt is null once the data of the person who created the endpoint was erased. */
export async function describeDelivery(
  { personal }: Pick<Ports, 'personal'>,
  row: ListedDelivery,
): Promise<Delivery> {
  return {
    id: row.id,
    endpoint_id: row.endpointId,
    event_id: row.eventId,
    event_type: row.eventType,
    trigger: row.trigger,
    attempt: row.attempt,
    status: row.status,
    due_at: row.dueAt,
    started_at: row.startedAt,
    duration_ms: row.durationMs,
    http_status: row.httpStatus,
    error: row.errorCode === null ? null : { code: row.errorCode },
    response_excerpt: row.responseExcerpt === null ? null : await personal.open(row.responseExcerpt),
    replay_of: row.replayOf,
    next_delivery_id: row.nextDeliveryId,
    payload: {
      type: row.eventType,
      timestamp: row.occurredAt,
      sequence: row.sequence,
      data: { ...row.data },
    },
    withheld: row.withheld,
  };
}

const READ_WITHIN_MS = 1_000;

/**
 * The delivery that an earlier request of the same Idempotency-Key made; null when it made none. Throws
 * `idempotency_in_progress` while the read model may lack it, `not_found` when its endpoint is out of the caller's mailboxes.
 */
export async function deliveryOfKey(context: Context, deliveryId: string): Promise<Delivery | null> {
  const { caller, ports } = context;
  const find = () => ports.webhookRecords.delivery(caller.org.id, deliveryId);
  let row = await find();
  if (row === null) {
    const head = await ports.events.headPosition();
    if (!(await ports.readModels.waitFor(head, READ_WITHIN_MS))) throw keyInProgress(1);
    row = await find();
  }
  if (row === null) return null;
  // The endpoint may be out of the caller's reach by now.
  if (caller.token.mailboxIds !== null) await endpointOf(context, row.endpointId);
  return await describeDelivery(ports, row);
}
