/** Which endpoints an event is queued for. Pure: endpoints as they were at the event's place in the log decide. */
import type { PastFact, StoredEvent } from '../values/event.ts';
import { uuidToId, uuidV5 } from '../values/ids.ts';
import type { Publication } from '../values/webhook-event.ts';
import type { DeliveriesQueued } from './delivery-events.ts';
import type { EndpointState } from './endpoint.ts';
import { EVERY } from './endpoint-events.ts';

/** An endpoint, and how far its deliveries are numbered. */
export interface Subscriber {
  readonly id: string;
  readonly orgId: string | null;
  readonly state: EndpointState;
  readonly lastSequence: number;
}

export type QueuedNotification = DeliveriesQueued['notifications'][number];

/** What the outside may hear of an event, each with its `webhook-id`. */
export function notificationsOf(
  { id, streamName, revision }: Pick<StoredEvent, 'id' | 'streamName' | 'revision'>,
  { data, meta }: Pick<PastFact, 'data' | 'meta'>,
  { notify, many }: Publication,
): readonly QueuedNotification[] {
  const subject = streamName.slice(streamName.indexOf('-') + 1);
  return notify({ data, meta, subject, revision }).flatMap((notification, place) => {
    if (notification === null) return [];
    return {
      event_id: uuidToId('evt', many === true ? uuidV5(id, String(place)) : id),
      event_type: notification.type,
      mailbox_id: notification.mailboxId,
      folders: notification.folders && [...notification.folders],
      occurred_at: meta.occurred_at,
      data: notification.data as QueuedNotification['data'],
    };
  });
}

/** True when the endpoint asked for the notification. What its person may see is decided at each attempt. */
export function isSubscribed(
  { orgId, state }: Subscriber,
  eventOrgId: string | null,
  { event_type, mailbox_id }: Pick<QueuedNotification, 'event_type' | 'mailbox_id'>,
): boolean {
  const { status, version, eventTypes, mailboxIds } = state;
  if (orgId !== eventOrgId || version === 0 || (status !== 'active' && status !== 'paused')) return false;
  return includes(eventTypes, event_type) && (mailbox_id === null || includes(mailboxIds, mailbox_id));
}

const includes = (chosen: readonly string[], one: string): boolean =>
  chosen.includes(EVERY) || chosen.includes(one);
