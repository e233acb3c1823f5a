/** Rows of the read model `webhooks`: how they are read, changed by an event, and written. */
import type { DeliveryEnded } from '../commands/webhooks/delivery-events.ts';
import {
  type EndpointState,
  type EndpointStatus,
  endpointStatus,
  type SigningSecret,
  webhookEndpoint,
} from '../commands/webhooks/endpoint.ts';
import type { PayloadForm } from '../commands/webhooks/endpoint-events.ts';
import { NEW_HEALTH } from '../commands/webhooks/endpoint-health.ts';
import type { DeliveryRow, EndpointHealth } from '../commands/ports/webhook-records.ts';
import type { Trigger } from '../commands/values/webhook-event.ts';
import type { Sql } from '../commands/ports/ports.ts';
import type { Position } from '../commands/values/position.ts';
import type { Sealed } from '../commands/values/sealed.ts';

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

/** The columns of a table: their type, and their value of one row. */
type Columns<T> = Readonly<Record<string, readonly [type: string, of: (row: T) => unknown]>>;

const ENDPOINT: Columns<EndpointRow> = {
  id: ['text', ({ id }) => id],
  org_id: ['text', ({ orgId }) => orgId],
  created_by: ['text', ({ state }) => state.createdBy],
  rights_of: ['text', ({ state }) => state.rightsOf],
  url: ['text', ({ state }) => state.url],
  description: ['text', ({ state }) => state.description],
  event_types: ['jsonb', ({ state }) => JSON.stringify(state.eventTypes)],
  mailbox_ids: ['jsonb', ({ state }) => JSON.stringify(state.mailboxIds)],
  payload: ['text', ({ state }) => state.payload],
  status: ['text', ({ state, health }) => endpointStatus(state, health)],
  disabled_reason: ['text', ({ state }) => state.disabledReason],
  secrets: ['jsonb', ({ state }) => JSON.stringify(state.secrets)],
  secret_hint: ['text', ({ state }) => state.secretHint],
  version: ['int', ({ state }) => state.version],
  created_at: ['timestamptz', ({ state }) => state.createdAt],
  updated_at: ['timestamptz', ({ state }) => state.updatedAt],
  last_sequence: ['bigint', ({ health }) => health.lastSequence],
  consecutive_failures: ['int', ({ health }) => health.consecutiveFailures],
  first_failure_at: ['timestamptz', ({ health }) => health.firstFailureAt],
  last_success_at: ['timestamptz', ({ health }) => health.lastSuccessAt],
  last_failure_at: ['timestamptz', ({ health }) => health.lastFailureAt],
  not_before: ['timestamptz', ({ health }) => health.notBefore],
  rests: ['int', ({ health }) => health.rests],
};

const DELIVERY: Columns<DeliveryRow> = {
  id: ['text', ({ id }) => id],
  endpoint_id: ['text', ({ endpointId }) => endpointId],
  org_id: ['text', ({ orgId }) => orgId],
  event_id: ['text', ({ eventId }) => eventId],
  event_type: ['text', ({ eventType }) => eventType],
  mailbox_id: ['text', ({ mailboxId }) => mailboxId],
  folders: ['jsonb', ({ folders }) => folders && JSON.stringify(folders)],
  sequence: ['bigint', ({ sequence }) => sequence],
  trigger: ['text', ({ trigger }) => trigger],
  attempt: ['int', ({ attempt }) => attempt],
  failures: ['int', ({ failures }) => failures],
  status: ['text', ({ status }) => status],
  due_at: ['timestamptz', ({ dueAt }) => dueAt],
  started_at: ['timestamptz', ({ startedAt }) => startedAt],
  duration_ms: ['int', ({ durationMs }) => durationMs],
  http_status: ['int', ({ httpStatus }) => httpStatus],
  error_code: ['text', ({ errorCode }) => errorCode],
  response_excerpt: ['text', ({ responseExcerpt }) => responseExcerpt],
  withheld: ['boolean', ({ withheld }) => withheld],
  ended_position: ['bigint', ({ endedPosition }) => endedPosition?.toString() ?? null],
  replay_of: ['text', ({ replayOf }) => replayOf],
  next_delivery_id: ['text', ({ nextDeliveryId }) => nextDeliveryId],
  occurred_at: ['timestamptz', ({ occurredAt }) => occurredAt],
  queued_at: ['timestamptz', ({ queuedAt }) => queuedAt],
  data: ['jsonb', ({ data }) => JSON.stringify(data)],
};

const table = <T>(name: string, columns: Columns<T>): string =>
  `create table ${name} (${Object.entries(columns)
    .map(([column, [type]]) => `${column} ${type}${column === 'id' ? ' primary key' : ''}`)
    .join(', ')}) ${VACUUM}`;

/** Rows change often and few are live: the dead ones are removed early. */
const VACUUM = 'with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000)';

export const createEndpointTable = (name: string): string => table(name, ENDPOINT);
export const createDeliveryTable = (name: string): string => table(name, DELIVERY);

const upsert = <T>(name: string, columns: Columns<T>): string => {
  const names = Object.keys(columns);
  const types = Object.values(columns).map(([type], index) => `$${String(index + 1)}::${type}[]`);
  return `insert into ${name} (${names.join(', ')}) select * from unnest(${types.join(', ')})
    on conflict (id) do update set ${names.map((column) => `${column} = excluded.${column}`).join(', ')}`;
};

async function write<T>(sql: Sql, name: string, columns: Columns<T>, rows: readonly T[]): Promise<void> {
  if (rows.length === 0) return;
  await sql.query(
    upsert(name, columns),
    Object.values(columns).map(([, of]) => rows.map(of)),
  );
}

export const writeEndpoints = (sql: Sql, name: string, rows: readonly EndpointRow[]): Promise<void> =>
  write(sql, name, ENDPOINT, rows);
export const writeDeliveries = (sql: Sql, name: string, rows: readonly DeliveryRow[]): Promise<void> =>
  write(sql, name, DELIVERY, rows);

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

/** The columns that the outcome of an attempt sets. */
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
