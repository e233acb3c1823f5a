/** The one message a route names: its place, and the error when it is no longer there. */
import type { MailboxAccess } from '../../commands/kernel/access.ts';
import type { Context } from '../../commands/kernel/capability.ts';
import type { MailboxEntry } from '../../commands/ports/directory.ts';
import { GatewayError } from '../../commands/values/errors.ts';
import type { MessageRef } from '../../commands/mail/message.ts';
import { placeIn } from '../../commands/messages/prepare-operation.ts';
import { staleMessage } from '../../commands/messages/resolve-stale-id.ts';
import { mailboxOf } from './read-messages.ts';

export interface RequestedMessage {
  readonly mailbox: MailboxEntry;
  readonly access: MailboxAccess;
  readonly messageId: string;
  readonly ref: MessageRef;
}

/** Throws `not_found` for an id of another mailbox, or of a folder outside the grant. */
export function requestedMessage(context: Context, mailboxId: string, messageId: string): RequestedMessage {
  const { mailbox, access } = mailboxOf(context, mailboxId);
  const ref = placeIn(mailbox, context.ports.locators, messageId);
  return { mailbox, access, messageId, ref };
}

/** The value found for the message; throws `message_stale` or `not_found` without one. */
export async function orStale<Found>(
  { ports }: Context,
  { mailbox, messageId }: RequestedMessage,
  found: Found | null | undefined,
): Promise<Found> {
  if (found != null) return found;
  throw await staleMessage(ports, mailbox, messageId);
}

/** As `orStale`, for bytes that are found missing at the first read. */
export async function* readable(
  context: Context,
  message: RequestedMessage,
  pieces: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array, void, undefined> {
  let hasBegun = false;
  try {
    for await (const piece of pieces) {
      hasBegun = true;
      yield piece;
    }
  } catch (error) {
    if (!hasBegun && error instanceof GatewayError && error.code === 'message_stale') {
      await orStale(context, message, null);
    }
    throw error;
  }
}
