/** The tables of the read model `webhooks`: their columns, and how rows are written. */
import type { DeliveryRow } from '../commands/ports/webhook-records.ts';
import type { Sql } from '../commands/ports/ports.ts';
import { endpointStatus } from '../commands/webhooks/endpoint.ts';
import type { EndpointRow, outcomeOf } from './webhook-rows.ts';

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

/** The outcome of a delivery that has a row. */
export type Outcome = Pick<DeliveryRow, 'id' | 'nextDeliveryId' | keyof ReturnType<typeof outcomeOf>>;

/** The id, and the columns that the outcome of an attempt sets. */
const OUTCOME: Columns<Outcome> = {
  id: ['text', ({ id }) => id],
  status: ['text', ({ status }) => status],
  started_at: ['timestamptz', ({ startedAt }) => startedAt],
  duration_ms: ['int', ({ durationMs }) => durationMs],
  http_status: ['int', ({ httpStatus }) => httpStatus],
  error_code: ['text', ({ errorCode }) => errorCode],
  response_excerpt: ['text', ({ responseExcerpt }) => responseExcerpt],
  withheld: ['boolean', ({ withheld }) => withheld],
  ended_position: ['bigint', ({ endedPosition }) => endedPosition?.toString() ?? null],
  next_delivery_id: ['text', ({ nextDeliveryId }) => nextDeliveryId],
};

const DELIVERY: Columns<DeliveryRow> = {
  ...OUTCOME,
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
  due_at: ['timestamptz', ({ dueAt }) => dueAt],
  replay_of: ['text', ({ replayOf }) => replayOf],
  occurred_at: ['timestamptz', ({ occurredAt }) => occurredAt],
  queued_at: ['timestamptz', ({ queuedAt }) => queuedAt],
  data: ['jsonb', ({ data }) => JSON.stringify(data)],
};

/** What is scheduled, apart from its row: so that an outcome changes no index of the deliveries. */
const DUE = ['id', 'endpoint_id', 'org_id', 'sequence', 'due_at', 'queued_at'] as const;

const pick = <T>(columns: Columns<T>, names: readonly string[]): Columns<T> =>
  Object.fromEntries(Object.entries(columns).filter(([name]) => names.includes(name)));

const table = <T>(name: string, columns: Columns<T>, storage: string): string =>
  `create table ${name} (${Object.entries(columns)
    .map(([column, [type]]) => `${column} ${type}${column === 'id' ? ' primary key' : ''}`)
    .join(', ')}) with (${storage})`;

/** Rows change often and few are live: the dead ones are removed early. */
const VACUUM = 'autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000';
/** Every row changes once, soon after it was added: its page has room for that. */
const ROOM = 'fillfactor = 50';

export const createEndpointTable = (name: string): string => table(name, ENDPOINT, VACUUM);
export const createDeliveryTable = (name: string): string => table(name, DELIVERY, ROOM);
export const createDueTable = (name: string): string => table(name, pick(DELIVERY, DUE), VACUUM);

/** Rows as the parameters of a statement, an array for each column, and the table that they make in it. */
function arraysOf<T>(
  columns: Columns<T>,
  rows: readonly T[],
): { names: string[]; from: string; parameters: unknown[][] } {
  const types = Object.values(columns).map(([type], index) => `$${String(index + 1)}::${type}[]`);
  return {
    names: Object.keys(columns),
    from: `unnest(${types.join(', ')})`,
    parameters: Object.values(columns).map(([, of]) => rows.map(of)),
  };
}

async function insert<T>(
  sql: Sql,
  columns: Columns<T>,
  rows: readonly T[],
  { into, onConflict }: { readonly into: string; readonly onConflict: (names: readonly string[]) => string },
): Promise<void> {
  if (rows.length === 0) return;
  const { names, from, parameters } = arraysOf(columns, rows);
  await sql.query(
    `insert into ${into} (${names.join(', ')}) select * from ${from} on conflict (id) do ${onConflict(names)}`,
    parameters,
  );
}

export const writeEndpoints = (sql: Sql, into: string, rows: readonly EndpointRow[]): Promise<void> =>
  insert(sql, ENDPOINT, rows, {
    into,
    onConflict: (names) => `update set ${names.map((name) => `${name} = excluded.${name}`).join(', ')}`,
  });

export interface DeliveryTables {
  readonly deliveries: string;
  readonly due: string;
}

/** Adds deliveries; those that are scheduled are due. */
export async function addDeliveries(
  sql: Sql,
  { deliveries, due }: DeliveryTables,
  rows: readonly DeliveryRow[],
): Promise<void> {
  const onConflict = (): string => 'nothing';
  const scheduled = rows.filter(({ status }) => status === 'scheduled');
  await insert(sql, DELIVERY, rows, { into: deliveries, onConflict });
  await insert(sql, pick(DELIVERY, DUE), scheduled, { into: due, onConflict });
}

export async function endDeliveries(
  sql: Sql,
  { deliveries, due }: DeliveryTables,
  outcomes: readonly Outcome[],
): Promise<void> {
  if (outcomes.length === 0) return;
  const { names, from, parameters } = arraysOf(OUTCOME, outcomes);
  await sql.query(
    `update ${deliveries} d set ${Object.keys(OUTCOME)
      .map((name) => `${name} = o.${name}`)
      .join(', ')}
     from ${from} as o(${names.join(', ')}) where d.id = o.id`,
    parameters,
  );
  await sql.query(`delete from ${due} where id = any($1::text[])`, [outcomes.map(({ id }) => id)]);
}
