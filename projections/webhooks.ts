/**
 * `read.webhook_endpoint`, `read.webhook_delivery` and `read.webhook_due`: what is due, as a pure function of the log. What was
 * queued is a scheduled delivery, and due; the outcome of an attempt ends it and names the next one.
 */
import type { Position } from '../commands/values/position.ts';
import type { PastFact } from '../commands/values/event.ts';
import {
  type DeliveriesQueued,
  type DeliveryEnded,
  deliveryId,
} from '../commands/webhooks/delivery-events.ts';
import { healthAfter, recovered } from '../commands/webhooks/endpoint-health.ts';
import { webhookEndpoint } from '../commands/webhooks/endpoint.ts';
import type { EndpointEvent } from '../commands/webhooks/endpoint-events.ts';
import { type Batch, type ProjectedEvent, type Projection, splitStreamName } from './projection.ts';
import type { DeliveryRow } from '../commands/ports/webhook-records.ts';
import { latestSince } from './webhook-queries.ts';
import {
  BRIEF_COLUMNS,
  type BriefDelivery,
  concernsWebhooks,
  type EndpointRow,
  isEndpointEvent,
  NEW_ENDPOINT,
  notTried,
  outcomeOf,
  queuedRow,
  readBrief,
  readDelivery,
  readEndpoint,
  type Stored,
  retryOf,
  testRow,
} from './webhook-rows.ts';
import {
  addDeliveries,
  createDeliveryTable,
  createDueTable,
  createEndpointTable,
  type DeliveryTables,
  endDeliveries,
  type Outcome,
  writeEndpoints,
} from './webhook-tables.ts';

/** The channel on which workers hear that a delivery may be due. */
export const DUE_CHANNEL = 'webhook_due';

export const webhooks: Projection = {
  name: 'webhooks',
  version: 2,
  tables: ['webhook_endpoint', 'webhook_delivery', 'webhook_due'],
  create: (tableOf) => [
    createEndpointTable(tableOf('webhook_endpoint')),
    createDeliveryTable(tableOf('webhook_delivery')),
    createDueTable(tableOf('webhook_due')),
    `create index on ${tableOf('webhook_endpoint')} (org_id)`,
    // `apply` cancels what is due for an endpoint, and replays what was.
    `create index on ${tableOf('webhook_due')} (endpoint_id, due_at, sequence)`,
    `create index on ${tableOf('webhook_delivery')} (endpoint_id, id)`,
  ],
  indexes: (tableOf) => [
    `create index on ${tableOf('webhook_delivery')} (org_id, id)`,
    `create index on ${tableOf('webhook_due')} (queued_at)`,
  ],
  prompt: ['WebhookDeliveriesQueued'],
  apply: async ({ events: all, ...into }) => {
    const events = all.filter(({ fact }) => concernsWebhooks(fact));
    if (events.length === 0) return;
    const fold = await WebhookFold.over({ events, ...into });
    for (const event of events) await fold.apply(event);
    await fold.flush();
  },
};

/** The state of the rows that a batch touches, written once at its end. */
class WebhookFold {
  readonly #batch: Batch;
  readonly #endpoints = new Map<string, EndpointRow>();
  /** In full where a retry or a replay may follow. */
  readonly #deliveries = new Map<string, DeliveryRow | BriefDelivery>();
  readonly #changedEndpoints = new Set<string>();
  /** Not written yet. */
  readonly #added = new Map<string, DeliveryRow>();
  readonly #ended = new Map<string, Outcome>();

  constructor(batch: Batch) {
    this.#batch = batch;
  }

  /** Reads the endpoints of the organisations in the batch, and the deliveries that its events name. */
  static async over(batch: Batch): Promise<WebhookFold> {
    const fold = new WebhookFold(batch);
    const { events, sql, tableOf } = batch;
    const orgIds = new Set(events.flatMap(({ fact }) => fact.meta.org_id ?? []));
    const endpoints = await sql.query<Stored>(
      `select * from ${tableOf('webhook_endpoint')} where org_id = any($1::text[])`,
      [[...orgIds]],
    );
    for (const row of endpoints.map(readEndpoint)) fold.#endpoints.set(row.id, row);
    const ended = events.flatMap(({ fact }) => (fact.type === 'WebhookDeliveryEnded' ? [fact.data] : []));
    const repeated = events.flatMap(({ fact }) =>
      fact.type === 'WebhookDeliveryReplayed' ? [fact.data.replay_of, fact.data.delivery_id] : [],
    );
    const retried = ended.flatMap(({ delivery_id, next }) => (next === null ? [] : [delivery_id]));
    await fold.#readBrief(ended.map(({ delivery_id }) => delivery_id));
    if (retried.length + repeated.length > 0)
      await fold.#read('id = any($1::text[])', [[...retried, ...repeated]]);
    return fold;
  }

  async apply(event: ProjectedEvent): Promise<void> {
    const { fact, streamName } = event;
    if (isEndpointEvent(fact)) await this.#changeEndpoint(splitStreamName(streamName).id, fact, event);
    if (fact.type === 'WebhookDeliveriesQueued') this.#queue(fact.data, event);
    if (fact.type === 'WebhookDeliveryEnded') this.#end(fact.data, event);
  }

  /** Writes what changed, and wakes the workers when a delivery was scheduled. */
  async flush(): Promise<void> {
    const { sql, tableOf } = this.#batch;
    const endpoints = [...this.#changedEndpoints].flatMap((id) => this.#endpoints.get(id) ?? []);
    const removed = endpoints.filter(({ state }) => state.status === 'removed').map(({ id }) => id);
    await writeEndpoints(
      sql,
      tableOf('webhook_endpoint'),
      endpoints.filter(({ state }) => state.status !== 'removed'),
    );
    if (removed.length > 0)
      await sql.query(`delete from ${tableOf('webhook_endpoint')} where id = any($1::text[])`, [removed]);
    const added = [...this.#added.values()];
    await addDeliveries(sql, this.#tables, added);
    await endDeliveries(sql, this.#tables, [...this.#ended.values()]);
    if (added.some(({ status }) => status === 'scheduled') || endpoints.length > removed.length)
      await sql.query('select pg_notify($1, $2)', [DUE_CHANNEL, '']);
    this.#changedEndpoints.clear();
    this.#added.clear();
    this.#ended.clear();
  }

  get #tables(): DeliveryTables {
    const { tableOf } = this.#batch;
    return { deliveries: tableOf('webhook_delivery'), due: tableOf('webhook_due') };
  }

  async #readBrief(ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return;
    const rows = await this.#batch.sql.query<Stored>(
      `select ${BRIEF_COLUMNS} from ${this.#tables.deliveries} where id = any($1::text[])`,
      [ids],
    );
    for (const row of rows.map(readBrief)) this.#deliveries.set(row.id, row);
  }

  async #read(where: string, parameters: readonly unknown[]): Promise<readonly DeliveryRow[]> {
    const text = `select * from ${this.#tables.deliveries} where ${where}`;
    const rows = await this.#batch.sql.query<Stored>(text, parameters);
    return rows.map((stored) => {
      const row = readDelivery(stored);
      this.#deliveries.set(row.id, row);
      return row;
    });
  }

  #inFull(id: string): DeliveryRow | null {
    const row = this.#deliveries.get(id);
    return row !== undefined && isFull(row) ? row : null;
  }

  #putEndpoint(row: EndpointRow): void {
    this.#endpoints.set(row.id, row);
    this.#changedEndpoints.add(row.id);
  }

  #add(row: DeliveryRow): void {
    this.#deliveries.set(row.id, row);
    this.#added.set(row.id, row);
  }

  #finish(row: DeliveryRow | BriefDelivery, outcome: Outcome): void {
    this.#deliveries.set(row.id, { ...row, ...outcome });
    const added = this.#added.get(row.id);
    if (added) this.#added.set(row.id, { ...added, ...outcome });
    else this.#ended.set(row.id, outcome);
  }

  async #changeEndpoint(id: string, fact: PastFact<EndpointEvent>, event: ProjectedEvent): Promise<void> {
    const before = this.#endpoints.get(id) ?? { id, orgId: fact.meta.org_id, ...NEW_ENDPOINT };
    const state = webhookEndpoint.evolve(before.state, fact);
    const startsAfresh =
      fact.type === 'WebhookEndpointResumed' ||
      (fact.type === 'WebhookEndpointChanged' && fact.data.url !== undefined);
    this.#putEndpoint({ ...before, state, health: startsAfresh ? recovered(before.health) : before.health });
    if (fact.type === 'WebhookEndpointDisabled') await this.#cancel(id, 'endpoint_disabled', event);
    if (fact.type === 'WebhookEndpointRemoved') await this.#cancel(id, 'endpoint_removed', event);
    if (fact.type === 'WebhookDeliveryReplayed') {
      const source = this.#inFull(fact.data.replay_of);
      if (source?.endpointId === id) this.#replay(source, fact.data.delivery_id, event);
    }
    if (fact.type === 'WebhookReplayRequested') {
      for (const source of await this.#latestSince(id, fact.data.since, fact.data.status)) {
        const replayId = deliveryId(new Date(fact.meta.occurred_at), id, [event.id, source.eventId]);
        this.#replay(source, replayId, event);
      }
    }
  }

  /** In SQL: a paused endpoint may have many. */
  async #cancel(endpointId: string, errorCode: string, { position }: ProjectedEvent): Promise<void> {
    await this.flush();
    const { deliveries, due } = this.#tables;
    await this.#batch.sql.query(
      `with gone as (delete from ${due} where endpoint_id = $1 returning id)
       update ${deliveries} d set status = 'cancelled', error_code = $2, ended_position = $3
       from gone where d.id = gone.id`,
      [endpointId, errorCode, String(position)],
    );
    for (const row of this.#deliveries.values())
      if (row.endpointId === endpointId && row.status === 'scheduled')
        this.#deliveries.set(row.id, { ...row, status: 'cancelled', errorCode, endedPosition: position });
  }

  /** The latest delivery of each event of the endpoint since a time, where it has ended so. */
  async #latestSince(
    endpointId: string,
    since: string,
    status: string | null,
  ): Promise<readonly DeliveryRow[]> {
    await this.flush();
    return await this.#read(`id in (${latestSince(this.#tables.deliveries)}) order by sequence`, [
      endpointId,
      since,
      status,
    ]);
  }

  #replay(source: DeliveryRow, id: string, { fact, position }: ProjectedEvent): void {
    // The request was repeated after it had been recorded.
    if (this.#deliveries.has(id)) return;
    const at = fact.meta.occurred_at;
    this.#add({
      ...notTried(source),
      id,
      trigger: 'replay',
      attempt: 1,
      failures: 0,
      ...(this.#accepts(source.endpointId) ? {} : cancelledAt(position)),
      dueAt: at,
      queuedAt: at,
      replayOf: source.id,
    });
  }

  #accepts(endpointId: string): boolean {
    const status = this.#endpoints.get(endpointId)?.state.status;
    return status === 'active' || status === 'paused';
  }

  #queue({ notifications, deliveries }: DeliveriesQueued, { position }: ProjectedEvent): void {
    for (const { notification: place, endpoint_id, sequence } of deliveries) {
      const notification = notifications[place];
      const endpoint = this.#endpoints.get(endpoint_id);
      if (notification === undefined || endpoint === undefined) continue;
      this.#putEndpoint({ ...endpoint, health: { ...endpoint.health, lastSequence: sequence } });
      // It may have been disabled after the event and before it was queued.
      const cancelled = this.#accepts(endpoint_id) ? {} : cancelledAt(position);
      this.#add({ ...queuedRow(notification, endpoint, sequence), ...cancelled });
    }
  }

  /** The first outcome of a delivery counts: a later one comes from a worker that had lost it. */
  #end(ended: DeliveryEnded, { fact, position }: ProjectedEvent): void {
    const { occurred_at: at, org_id } = fact.meta;
    if (ended.trigger === 'test') {
      if (!this.#deliveries.has(ended.delivery_id)) this.#add(testRow(ended, position, at, org_id));
      return;
    }
    const row = this.#deliveries.get(ended.delivery_id);
    if (row === undefined || !isOpen(row)) return;
    const next = this.#accepts(row.endpointId) ? ended.next : null;
    this.#finish(row, {
      id: row.id,
      ...outcomeOf(ended, position),
      nextDeliveryId: next?.delivery_id ?? null,
    });
    const endpoint = this.#endpoints.get(row.endpointId);
    if (endpoint) this.#putEndpoint({ ...endpoint, health: healthAfter(endpoint.health, ended, at) });
    if (next === null || !isFull(row)) return;
    this.#add(retryOf(row, { ...next, failures: ended.failures }));
  }
}

const isFull = (row: DeliveryRow | BriefDelivery): row is DeliveryRow => 'eventId' in row;

const cancelledAt = (position: Position) =>
  ({ status: 'cancelled', errorCode: 'endpoint_disabled', endedPosition: position }) as const;

/** True also when the endpoint was disabled or removed while the attempt was under way. */
const isOpen = ({ status, startedAt, errorCode }: BriefDelivery): boolean =>
  status === 'scheduled' || (status === 'cancelled' && startedAt === null && errorCode !== 'expired');
