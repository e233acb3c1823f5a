/** Reading `read.webhook_endpoint` and `read.webhook_delivery`. */
import type { Row, Sql } from '../commands/ports/ports.ts';
import type { ListedDelivery, ReplayQuery, WebhookRecords } from '../commands/ports/webhook-records.ts';
import type { Position } from '../commands/values/position.ts';
import { WebhookDeliveriesQueued } from '../commands/webhooks/delivery-events.ts';
import type { DeliveryStatus } from '../commands/webhooks/delivery-payload.ts';
import { WebhookEndpointCreated } from '../commands/webhooks/endpoint-events.ts';
import { type EndpointRow, readDelivery, readEndpoint, type Stored } from './webhook-rows.ts';

export interface NumberedEndpoint {
  readonly id: string;
  readonly orgId: string | null;
  /** The number of its last queued delivery. */
  readonly lastSequence: number;
}

export interface NumberedEndpoints {
  readonly endpoints: readonly NumberedEndpoint[];
  /** Parked events without which an endpoint or a number is missing. */
  readonly parked: number;
}

const NUMBERING = [WebhookEndpointCreated.type, WebhookDeliveriesQueued.type];

/** Every endpoint of the installation; null while the table has not reached the position. */
export async function listNumberedEndpoints(
  sql: Sql,
  {
    table,
    checkpoint,
    position,
  }: { readonly table: string; readonly checkpoint: string; readonly position: Position },
): Promise<NumberedEndpoints | null> {
  const [row] = await sql.query<NumberedEndpoints & Row>(
    `select coalesce((select json_agg(json_build_object('id', id, 'orgId', org_id, 'lastSequence', last_sequence) order by id)
       from ${table}), '[]') as endpoints,
       (select count(*)::int from work.parked_event p where p.projection = $1 and p.type = any($3::text[])) as parked
     from read.checkpoint where projection = $1 and position >= $2::bigint`,
    [checkpoint, String(position), NUMBERING],
  );
  return row ?? null;
}

export interface EndpointPage {
  readonly orgId: string;
  /** Ids below this one; null = start at the newest. */
  readonly before: string | null;
  readonly limit: number;
}

/** The endpoints of an organisation, the newest first. */
export async function listEndpoints(
  sql: Sql,
  { orgId, before, limit }: EndpointPage,
): Promise<readonly EndpointRow[]> {
  const rows = await sql.query<Stored>(
    `select * from read.webhook_endpoint where org_id = $1 and ($2::text is null or id < $2)
     order by id desc limit $3`,
    [orgId, before, limit],
  );
  return rows.map(readEndpoint);
}

/** An endpoint as the read model has it; null when it does not have it (yet, or any more). */
export async function findEndpoint(sql: Sql, id: string): Promise<EndpointRow | null> {
  const [row] = await sql.query<Stored>('select * from read.webhook_endpoint where id = $1', [id]);
  return row ? readEndpoint(row) : null;
}

/** How many endpoints an organisation has. */
async function countEndpoints(sql: Sql, orgId: string): Promise<number> {
  const [row] = await sql.query<{ endpoints: string }>(
    'select count(*) as endpoints from read.webhook_endpoint where org_id = $1',
    [orgId],
  );
  return Number(row?.endpoints ?? 0);
}

const IN_FLIGHT = `d.status = 'scheduled' and exists (
  select 1 from work.delivery_claim c where c.delivery_id = d.id) as in_flight`;

const listed = (row: Stored): ListedDelivery => ({
  ...readDelivery(row),
  ...(row['in_flight'] === true && { status: 'in_flight' as const }),
});

export interface DeliveryQuery {
  readonly orgId: string;
  readonly endpointId: string | null;
  readonly status: DeliveryStatus | null;
  readonly eventType: string | null;
  /** Bounds of the time at which what the payload tells happened; `to` is excluded. */
  readonly from: string | null;
  readonly to: string | null;
  /** Ids below this one; null = start at the newest. */
  readonly before: string | null;
  readonly limit: number;
}

/** Deliveries of an organisation, the newest first. */
export async function listDeliveries(
  sql: Sql,
  { orgId, endpointId, status, eventType, from, to, before, limit }: DeliveryQuery,
): Promise<readonly ListedDelivery[]> {
  const stored = status === 'in_flight' ? 'scheduled' : status;
  const rows = await sql.query<Stored>(
    `select * from (
       select d.*, ${IN_FLIGHT} from read.webhook_delivery d
       where d.org_id = $1 and ($2::text is null or d.endpoint_id = $2)
         and ($3::text is null or d.status = $3) and ($4::text is null or d.event_type = $4)
         and ($5::timestamptz is null or d.occurred_at >= $5) and ($6::timestamptz is null or d.occurred_at < $6)
         and ($7::text is null or d.id < $7)
     ) found
     where $8::text is null or in_flight = ($8 = 'in_flight')
     order by id desc limit $9`,
    [orgId, endpointId, stored, eventType, from, to, before, stored === 'scheduled' ? status : null, limit],
  );
  return rows.map(listed);
}

/** Deliveries by their ids, in no order; unknown ids are left out. */
export async function findDeliveries(
  sql: Sql,
  orgId: string,
  ids: readonly string[],
): Promise<readonly ListedDelivery[]> {
  const rows = await sql.query<Stored>(
    `select d.*, ${IN_FLIGHT} from read.webhook_delivery d where d.org_id = $1 and d.id = any($2::text[])`,
    [orgId, ids],
  );
  return rows.map(listed);
}

/** How many deliveries a replay of the endpoint since a time would queue. */
export async function countReplayable(sql: Sql, { endpointId, since, status }: ReplayQuery): Promise<number> {
  const [row] = await sql.query<{ deliveries: string }>(
    `select count(*) as deliveries from (${latestSince('read.webhook_delivery')}) latest`,
    [endpointId, since, status],
  );
  return Number(row?.deliveries ?? 0);
}

/** SQL for the latest delivery of each event of endpoint `$1` since `$2` that has ended, with status `$3` unless null. */
export const latestSince = (table: string): string =>
  `select id from (
     select distinct on (event_id) id, status from ${table}
     where endpoint_id = $1 and occurred_at >= $2 and trigger <> 'test'
     order by event_id, queued_at desc, attempt desc) newest
   where status <> 'scheduled' and ($3::text is null or status = $3)`;

/** The `WebhookRecords` port. */
export const webhookRecords = (sql: Sql): WebhookRecords => ({
  health: async (endpointId) => (await findEndpoint(sql, endpointId))?.health ?? null,
  delivery: async (orgId, deliveryId) => (await findDeliveries(sql, orgId, [deliveryId]))[0] ?? null,
  countEndpoints: (orgId) => countEndpoints(sql, orgId),
  countReplayable: (query) => countReplayable(sql, query),
});
