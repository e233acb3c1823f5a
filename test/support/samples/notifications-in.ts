import { eventCatalogue } from '../../../commands/event-catalogue.ts';
import { readEvent, type StoredEvent } from '../../../commands/values/event.ts';
import { notificationsOf, type QueuedNotification } from '../../../commands/webhooks/match-event.ts';

/** What the outside may hear of a stored event. */
export function notificationsIn(stored: StoredEvent): readonly QueuedNotification[] {
  const fact = readEvent(eventCatalogue, stored);
  const webhook = eventCatalogue.get(stored.type)?.webhook ?? null;
  return fact === null || webhook === null ? [] : notificationsOf(stored, fact, webhook);
}
