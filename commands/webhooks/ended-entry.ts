/** The outcome of an attempt as an entry of the stream of the process that made it. */
import { type Author, envelope } from '../kernel/decide-and-append.ts';
import type { AccessEntry, Ports } from '../ports/ports.ts';
import type { WebhookResponse } from '../ports/webhook-port.ts';
import type { Sealed } from '../values/sealed.ts';
import { type DeliveryEnded, WebhookDeliveryEnded } from './delivery-events.ts';
import type { EndpointState } from './endpoint.ts';

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

/** What the endpoint answered, readable until the data of the person who created it are erased. */
export const sealedExcerpt = async (
  { personal }: Pick<Ports, 'personal'>,
  { createdBy }: Pick<EndpointState, 'createdBy'>,
  { excerpt }: Pick<WebhookResponse, 'excerpt'>,
): Promise<Sealed | null> =>
  excerpt === '' || createdBy === null ? null : await personal.seal(createdBy, excerpt);
