/** One page of messages, read live; the list route and email.query share it. */
import { z } from 'zod';
import type { MailboxAccess } from '../../commands/kernel/access.ts';
import type { Context } from '../../commands/kernel/capability.ts';
import type { MailboxEntry } from '../../commands/kernel/directory.ts';
import { notFound } from '../../commands/kernel/errors.ts';
import type { Filter } from '../../commands/kernel/mail-filter.ts';
import type { FetchedMessage, MailQuery, Order } from '../../commands/kernel/mail-port.ts';
import { keysetOf } from '../../commands/kernel/message-order.ts';
import { searchedFolders } from '../../commands/kernel/searched-folders.ts';
import { decodeCursor, encodeCursor, type CursorBinding, Page } from '../page.ts';
import type { BodyWindow } from './message-body.ts';
import { DEPTH_OF, Message, messageId, type View, type Viewing, viewOf } from './message-view.ts';

export const MessagePage = z.object({
  items: z.array(Message),
  page: Page.extend({ evaluated_by: z.enum(['gateway', 'mail_server']).optional() }),
  count: z.int().optional(),
  exact: z.boolean().optional(),
});
export type MessagePage = z.output<typeof MessagePage>;

export interface MessageRequest {
  readonly route: string;
  readonly mailboxId: string;
  readonly folder: string | undefined;
  readonly filter: Filter;
  readonly order: Order;
  readonly limit: number;
  readonly cursor: string | undefined;
  readonly view: View;
  readonly body: BodyWindow | null;
}

const KeysetSchema = z.object({
  value: z.union([z.string(), z.number()]),
  folderNumber: z.int(),
  uid: z.int(),
});

/** Bodies of one answer together; the rest is the next page (`contract.md` 4). */
const MAX_ANSWER_BYTES = 4 * 1024 * 1024;

/** The mailbox of a mail route and the caller's access to it. Throws `not_found`. */
export function mailboxOf(context: Context, id: string): { mailbox: MailboxEntry; access: MailboxAccess } {
  const mailbox = context.ports.directory.state.mailboxes.get(id);
  const access = context.caller.mailboxes.get(id);
  if (!mailbox || !access) throw notFound('mailbox');
  return { mailbox, access };
}

/** Finds, orders and shapes a page. A read of bodies is in the access stream before the answer leaves. */
export async function readMessages(context: Context, request: MessageRequest): Promise<MessagePage> {
  const { ports } = context;
  const { mailbox, access } = mailboxOf(context, request.mailboxId);
  const { route, folder, filter, order, view } = request;
  const binding = { route, query: { mailbox: mailbox.id, folder, filter, order, view } };
  const query: MailQuery = {
    folders: searchedFolders(mailbox, folder, access, ports.locators),
    filter,
    order,
    limit: request.limit,
    after: request.cursor === undefined ? null : decodeCursor(context, binding, request.cursor, KeysetSchema),
    depth: DEPTH_OF[view],
    textChars: request.body && request.body.offset + request.body.maxChars,
    countOnly: view === 'count',
    threadId: (root) => ports.locators.thread(mailbox.number, root),
  };
  const asOf = ports.clock.now().toISOString();
  const answer = await ports.mail.withMailbox(mailbox.id, 'interactive', (mail) => mail.query(query));
  const viewing: Viewing = { mailbox, locators: ports.locators, view, body: request.body };
  const kept = withinAnswer(answer.messages);
  if (request.body && kept.length > 0) await recordBodies(context, viewing, kept);
  return {
    items: kept.map((message) => viewOf(viewing, message)),
    page: {
      next_cursor: nextCursor(context, { binding, order, kept, answer }),
      limit: request.limit,
      as_of: asOf,
      evaluated_by: answer.evaluatedBy,
    },
    ...(view === 'count' ? { count: answer.count ?? 0, exact: true } : {}),
  };
}

/** Messages until the bodies fill the answer; at least one, so that every page moves on. */
function withinAnswer(messages: readonly FetchedMessage[]): readonly FetchedMessage[] {
  let bytes = 0;
  const end = messages.findIndex(({ text }, index) => {
    bytes += Buffer.byteLength(text?.content ?? '');
    return index > 0 && bytes > MAX_ANSWER_BYTES;
  });
  return end < 0 ? messages : messages.slice(0, end);
}

interface Paged {
  readonly binding: CursorBinding;
  readonly order: Order;
  readonly kept: readonly FetchedMessage[];
  readonly answer: {
    readonly messages: readonly FetchedMessage[];
    readonly next: z.output<typeof KeysetSchema> | null;
  };
}

function nextCursor(context: Context, { binding, order, kept, answer }: Paged): string | null {
  const last = kept.at(-1);
  if (kept.length < answer.messages.length && last)
    return encodeCursor(context, binding, keysetOf(last, order));
  return answer.next === null ? null : encodeCursor(context, binding, answer.next);
}

/** One event per request that hands out bodies. */
export const recordBodies = async (
  context: Context,
  viewing: Viewing,
  messages: readonly FetchedMessage[],
): Promise<void> => {
  await context.recordRead({
    mailboxId: viewing.mailbox.id,
    messageIds: messages.map(({ ref }) => messageId(viewing, ref)),
    what: 'text',
  });
};
