/**
 * Queues events of the log for the webhook endpoints that subscribe to them. One process leads. Its progress is the end of the
 * stream it writes, so an event is queued exactly once, whichever process dies when.
 */
import type { Client } from 'pg';
import {
  type Author,
  envelope,
  loadAggregate,
  newEvents,
  systemAuthor,
} from '../../commands/kernel/decide-and-append.ts';
import {
  type EventStore,
  type ExpectedRevision,
  type SubscriptionItem,
  WrongExpectedRevision,
} from '../../commands/ports/event-store.ts';
import type { Clock, Ids, Log, ReadModels, Sql } from '../../commands/ports/ports.ts';
import type { StoredEvent } from '../../commands/values/event.ts';
import type { Position } from '../../commands/values/position.ts';
import { QUEUE_STREAM, WebhookDeliveriesQueued } from '../../commands/webhooks/delivery-events.ts';
import { webhookEndpoint } from '../../commands/webhooks/endpoint.ts';
import type { Subscriber } from '../../commands/webhooks/match-event.ts';
import { checkpointKey, tableName } from '../../projections/projection.ts';
import { listNumberedEndpoints, type NumberedEndpoint } from '../../projections/webhook-queries.ts';
import { webhooks } from '../../projections/webhooks.ts';
import { Backoff } from '../concurrency/backoff.ts';
import { ItemBuffer } from '../projector/item-buffer.ts';
import { LeaderLocks } from '../projector/leadership.ts';
import { type Notices, type OrgDeliveries, QueuePlan } from './queue-plan.ts';

const LOCK = 'webhook_queue';
/** How often a follower tries to lead. */
const ASK_EVERY_MS = 500;
/** A leader asks this long after it last did, before it appends, whether it still leads. */
const STILL_LEADS_MS = 1_000;
const PAUSES = { firstMs: 100, mostMs: 2_000 };
const AT_ONCE = 500;
const READ_AHEAD = 2_000;
/** Characters in one append, but for the notification that reaches it: far below what a store takes. */
const MOST_PER_APPEND = 256 * 1024;
/** More deliveries than these are worth a batch of their own. */
const FEW = 20;
/** Events that are searched in vain before the progress is recorded. */
const SEARCHED_IN_VAIN = 5_000;

export interface DeliveryQueueParts {
  readonly events: EventStore;
  readonly sql: Sql;
  readonly ids: Ids;
  readonly clock: Clock;
  readonly log: Log;
  readonly readModels: ReadModels;
  /** A connection for the lock, not through a transaction pooler. */
  readonly directConnection: () => Promise<Client>;
}

/** Leads, or waits to lead, until the signal aborts. */
export async function runDeliveryQueue(parts: DeliveryQueueParts, signal: AbortSignal): Promise<void> {
  const backoff = new Backoff(PAUSES);
  while (!signal.aborted) {
    try {
      await leadOnce(parts, signal, () => {
        backoff.reset();
      });
    } catch (error) {
      if (error instanceof WrongExpectedRevision) parts.log.info('webhook queue: another process leads');
      else parts.log.warn('webhook queue: restarting', { error: String(error) });
    }
    await backoff.pause(signal);
  }
}

async function leadOnce(
  parts: DeliveryQueueParts,
  signal: AbortSignal,
  progressed: () => void,
): Promise<void> {
  const locks = await LeaderLocks.open(parts.directConnection);
  try {
    while ((await locks.take([LOCK])).length === 0) {
      await parts.clock.sleep(ASK_EVERY_MS, signal);
      if (signal.aborted) return;
    }
    const leader = await QueueLeader.begin(parts, locks, signal);
    await leader?.run(signal, progressed);
  } finally {
    await locks.close();
  }
}

/** The end of the queue: what was appended last, and up to where the log was searched. */
interface QueueEnd {
  readonly revision: ExpectedRevision;
  readonly after: Position;
  /** Notifications of the event that follows that are queued too. */
  readonly told: number;
}

class QueueLeader {
  readonly #parts: DeliveryQueueParts;
  readonly #locks: LeaderLocks;
  readonly #plan: QueuePlan;
  #end: QueueEnd;
  #searched = 0;
  #ledAt: number;

  private constructor(parts: DeliveryQueueParts, locks: LeaderLocks, end: QueueEnd, plan: QueuePlan) {
    this.#parts = parts;
    this.#locks = locks;
    this.#end = end;
    this.#plan = plan;
    this.#ledAt = parts.clock.elapsedMs();
  }

  /** Null when the signal aborts first. */
  static async begin(
    parts: DeliveryQueueParts,
    locks: LeaderLocks,
    signal: AbortSignal,
  ): Promise<QueueLeader | null> {
    const { events } = parts;
    const last = (await events.readLast(QUEUE_STREAM)) ?? (await beginQueue(parts));
    const endpoints = await awaitNumbers(parts, last.position, signal);
    if (endpoints === null) return null;
    const { after: searched, told = 0 } = WebhookDeliveriesQueued.data.parse(last.data);
    const after = BigInt(searched);
    const subscribers: Subscriber[] = [];
    for (const { id, orgId, lastSequence } of endpoints) {
      const { state } = await loadAggregate(upTo(events, after), webhookEndpoint, id);
      subscribers.push({ id, orgId, lastSequence, state });
    }
    const end = { revision: last.revision, after, told };
    return new QueueLeader(parts, locks, end, new QueuePlan(subscribers));
  }

  /** Follows the log. Throws `WrongExpectedRevision` when another process queued something, and what the store throws. */
  async run(signal: AbortSignal, progressed: () => void): Promise<void> {
    const turn = new AbortController();
    const either = AbortSignal.any([signal, turn.signal]);
    const { after } = this.#end;
    const source = this.#parts.events.subscribeToAll(after < 0n ? null : after, either);
    const buffer = new ItemBuffer(source, READ_AHEAD);
    try {
      for (let items = await buffer.take(AT_ONCE); items; items = await buffer.take(AT_ONCE)) {
        if (signal.aborted) return;
        await this.#searchAll(items);
        if (this.#plan.size > 0 || this.#searched >= SEARCHED_IN_VAIN) await this.#append();
        progressed();
      }
    } finally {
      turn.abort();
      buffer.close();
    }
  }

  async #searchAll(items: readonly SubscriptionItem[]): Promise<void> {
    for (const item of items) if (item.kind === 'event') await this.#search(item.event);
  }

  async #search(event: StoredEvent): Promise<void> {
    const { orgId, notifications } = this.#read(event);
    for (const [place, notification] of notifications.entries()) {
      if (place < this.#end.told) continue;
      this.#plan.match(orgId, notification);
      if (this.#plan.size < MOST_PER_APPEND) continue;
      this.#end = { ...this.#end, told: place + 1 };
      await this.#append();
    }
    this.#end = { ...this.#end, after: event.position, told: 0 };
    this.#searched += 1;
  }

  #read(event: StoredEvent): Notices {
    try {
      return this.#plan.read(event);
    } catch (error) {
      const { id, type, position } = event;
      this.#parts.log.error('webhook queue: event cannot be read, not queued', {
        event_id: id,
        type,
        position: String(position),
        error: String(error),
      });
      return { orgId: null, notifications: [] };
    }
  }

  async #append(): Promise<void> {
    const { clock, events } = this.#parts;
    if (clock.elapsedMs() - this.#ledAt > STILL_LEADS_MS) {
      await this.#locks.take([LOCK]);
      this.#ledAt = clock.elapsedMs();
    }
    const { revision, after, told } = this.#end;
    const taken = this.#plan.take();
    const entries = queueEntries(this.#parts, { after, told }, taken);
    const appended = await events.append(
      QUEUE_STREAM,
      revision,
      newEvents(this.#parts.ids, QUEUE_STREAM, entries),
    );
    this.#end = { ...this.#end, revision: appended.revision };
    this.#searched = 0;
    // While a caller waits, the read model takes the next batch at once: a lone event is then sent sooner.
    const size = taken.reduce((sum, { deliveries }) => sum + deliveries.length, 0);
    if (size > 0 && size < FEW) void this.#parts.readModels.waitFor(appended.position, ASK_EVERY_MS);
  }
}

/** Every endpoint with queued deliveries, and its last number, from the read model; null when the signal aborts first. */
async function awaitNumbers(
  { readModels, sql, clock, log }: DeliveryQueueParts,
  position: Position,
  signal: AbortSignal,
): Promise<readonly NumberedEndpoint[] | null> {
  const read = { table: tableName('webhook_endpoint', webhooks), checkpoint: checkpointKey(webhooks) };
  let isTold = false;
  while (!signal.aborted) {
    const isThere = await readModels.waitFor(position, ASK_EVERY_MS);
    if (!isThere) continue;
    // Held against the table itself: it may be built anew since this process saw it there.
    const numbered = await listNumberedEndpoints(sql, { ...read, position });
    if (numbered?.parked === 0) return numbered.endpoints;
    // A number that a parked event gave would be given again.
    if (numbered !== null && !isTold) {
      log.error('webhook queue: nothing is queued until parked events are retried', {
        parked: numbered.parked,
      });
      isTold = true;
    }
    await clock.sleep(ASK_EVERY_MS, signal);
  }
  return null;
}

/** Before the first leader there was no endpoint, so nothing before the present end of the log is queued. */
async function beginQueue(parts: DeliveryQueueParts): Promise<StoredEvent> {
  const head = await parts.events.headPosition();
  const entries = queueEntries(parts, { after: head < 0n ? 0n : head, told: 0 }, []);
  await parts.events.append(QUEUE_STREAM, 'no-stream', newEvents(parts.ids, QUEUE_STREAM, entries));
  const first = await parts.events.readLast(QUEUE_STREAM);
  if (first === null) throw new Error('The queue of webhook deliveries cannot be read.');
  return first;
}

/** One event for each organisation; one without deliveries records the progress alone. */
function queueEntries(
  parts: DeliveryQueueParts,
  { after, told }: Pick<QueueEnd, 'after' | 'told'>,
  taken: readonly OrgDeliveries[],
): Parameters<typeof newEvents>[2] {
  const nothing: OrgDeliveries = { orgId: null, notifications: [], deliveries: [] };
  return (taken.length > 0 ? taken : [nothing]).map(({ orgId, ...queued }) => {
    const author: Author = systemAuthor(parts, orgId);
    const data = { after: String(after), ...(told > 0 && { told }), ...queued };
    return {
      type: WebhookDeliveriesQueued.type,
      data: WebhookDeliveriesQueued.data.parse(data),
      metadata: envelope(author, WebhookDeliveriesQueued, parts.clock.now()),
    };
  });
}

/** The streams as they were at a place in the log. */
const upTo = (events: EventStore, position: Position): Pick<EventStore, 'readStream'> => ({
  readStream: async (name) => (await events.readStream(name)).filter((event) => event.position <= position),
});
