/** What is to be queued next: folds the endpoints as the log goes on, and gathers what matches them. */
import { eventCatalogue } from '../../commands/event-catalogue.ts';
import { readEvent, type PastFact, type StoredEvent } from '../../commands/values/event.ts';
import { type DeliveriesQueued, QueuedNotice } from '../../commands/webhooks/delivery-events.ts';
import { webhookEndpoint } from '../../commands/webhooks/endpoint.ts';
import {
  isSubscribed,
  notificationsOf,
  type QueuedNotification,
  type Subscriber,
} from '../../commands/webhooks/match-event.ts';
import { splitStreamName } from '../../projections/projection.ts';

/** An event of the queue holds at most so many deliveries, so that one append stays far below a store's limit. */
const MOST_PER_EVENT = 500;
/** A delivery as JSON: its place, the endpoint's id and a number. */
const DELIVERY_CHARACTERS = 100;

/** What one event of the log tells. */
export interface Notices {
  readonly orgId: string | null;
  /** A place in this list does not move. */
  readonly notifications: readonly QueuedNotification[];
}

const NOTHING: Notices = { orgId: null, notifications: [] };

export interface OrgDeliveries {
  readonly orgId: string | null;
  readonly notifications: DeliveriesQueued['notifications'];
  readonly deliveries: DeliveriesQueued['deliveries'];
}

interface Match {
  readonly notification: QueuedNotification;
  readonly endpointId: string;
  readonly sequence: number;
}

export class QueuePlan {
  readonly #subscribers: Map<string, Subscriber>;
  readonly #matches = new Map<string | null, Match[]>();
  /** What is not taken yet, in characters of JSON. */
  size = 0;

  constructor(subscribers: readonly Subscriber[]) {
    this.#subscribers = new Map(subscribers.map((subscriber) => [subscriber.id, subscriber]));
  }

  /** Changes the endpoints by the event, and reads what it tells. Throws when it cannot be read; nothing of it is then queued. */
  read(stored: StoredEvent): Notices {
    const { category, id } = splitStreamName(stored.streamName);
    const isOfEndpoint = category === webhookEndpoint.category;
    const publication = eventCatalogue.get(stored.type)?.webhook ?? null;
    // Most events are neither: they are not worth reading.
    if (!isOfEndpoint && (publication === null || this.#subscribers.size === 0)) return NOTHING;
    const fact = readEvent(eventCatalogue, stored);
    if (fact === null) return NOTHING;
    if (isOfEndpoint) this.#fold(id, fact);
    if (publication === null || this.#subscribers.size === 0) return NOTHING;
    const notifications = notificationsOf(stored, fact, publication).map((each) => QueuedNotice.parse(each));
    return { orgId: fact.meta.org_id, notifications };
  }

  /** Takes what was gathered, by organisation. */
  take(): readonly OrgDeliveries[] {
    const taken = [...this.#matches].flatMap(([orgId, matches]) =>
      chunks(matches).map((some) => ({ orgId, ...indexed(some) })),
    );
    this.#matches.clear();
    this.size = 0;
    return taken;
  }

  #fold(id: string, fact: PastFact): void {
    const { orgId, state, lastSequence } = this.#subscribers.get(id) ?? {
      orgId: fact.meta.org_id,
      state: webhookEndpoint.initial,
      lastSequence: 0,
    };
    const after = webhookEndpoint.evolve(state, fact as Parameters<typeof webhookEndpoint.evolve>[1]);
    if (after.status === 'removed') this.#subscribers.delete(id);
    else this.#subscribers.set(id, { id, orgId, state: after, lastSequence });
  }

  /** Gathers a notification for the endpoints that subscribe to it. */
  match(orgId: string | null, notification: QueuedNotification): void {
    let characters = JSON.stringify(notification).length;
    for (const subscriber of this.#subscribers.values()) {
      if (!isSubscribed(subscriber, orgId, notification)) continue;
      const sequence = subscriber.lastSequence + 1;
      this.#subscribers.set(subscriber.id, { ...subscriber, lastSequence: sequence });
      const matches = this.#matches.get(orgId) ?? [];
      this.#matches.set(orgId, matches);
      matches.push({ notification, endpointId: subscriber.id, sequence });
      this.size += DELIVERY_CHARACTERS + characters;
      characters = 0;
    }
  }
}

const chunks = (matches: readonly Match[]): readonly (readonly Match[])[] =>
  Array.from({ length: Math.ceil(matches.length / MOST_PER_EVENT) }, (_, index) =>
    matches.slice(index * MOST_PER_EVENT, (index + 1) * MOST_PER_EVENT),
  );

/** The notifications once each, and the deliveries that name them by their place. */
function indexed(matches: readonly Match[]): Omit<OrgDeliveries, 'orgId'> {
  const notifications = [...new Set(matches.map(({ notification }) => notification))];
  const places = new Map(notifications.map((notification, place) => [notification, place]));
  return {
    notifications,
    deliveries: matches.map(({ notification, endpointId, sequence }) => ({
      notification: places.get(notification) ?? 0,
      endpoint_id: endpointId,
      sequence,
    })),
  };
}
