/** The outcome of an attempt as an entry of the stream of the process that made it. */
import { type Author, envelope } from '../kernel/decide-and-append.ts';
import type { AccessEntry } from '../ports/ports.ts';
import { type DeliveryEnded, WebhookDeliveryEnded } from './delivery-events.ts';

export function endedEntry(
  author: Author,
  at: Date,
  ended: DeliveryEnded,
  mailboxId: string | null = null,
): AccessEntry {
  return {
    type: WebhookDeliveryEnded.type,
    data: WebhookDeliveryEnded.data.parse(ended),
    metadata: envelope(author, WebhookDeliveryEnded, at, mailboxId === null ? {} : { mailbox_id: mailboxId }),
  };
}
