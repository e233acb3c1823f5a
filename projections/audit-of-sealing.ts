/**
 * Which lines sealing and exporting lead to: alone they make no new checkpoint, else each checkpoint would make the next, and an export
 * would need one for the line about itself.
 */
import { exportEvents } from '../commands/audit/export-events.ts';
import { sealEvents } from '../commands/audit/seal-events.ts';
import type { AnyEvent } from '../commands/event-catalogue.ts';
import type { PastFact } from '../commands/values/event.ts';
import type { WebhookEventType } from '../commands/values/webhook-event.ts';

const OF_SEALING: ReadonlySet<string> = new Set([...sealEvents, ...exportEvents].map(({ type }) => type));
const SEALED: WebhookEventType = 'audit.checkpoint_sealed';

/** True for an event of sealing or of an export, and for the webhooks that tell of checkpoints only. */
export function isOfSealing(fact: PastFact<AnyEvent>): boolean {
  if (fact.type === 'WebhookDeliveryEnded') return fact.data.event_type === SEALED;
  if (fact.type === 'WebhookDeliveriesQueued')
    return fact.data.notifications.every(({ event_type: type }) => type === SEALED);
  return OF_SEALING.has(fact.type);
}
