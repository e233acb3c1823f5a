/** One page of messages: the list of a folder, and the answer of email.query. */
import { looksIntoText } from '../../commands/mail/matches.ts';
import { z } from 'zod';
import type { MailboxAccess } from '../../commands/kernel/access.ts';
import type { Context } from '../../commands/kernel/capability.ts';
import type { MailboxEntry } from '../../commands/ports/directory.ts';
import { notFound } from '../../commands/values/errors.ts';
import type { Filter } from '../../commands/mail/mail-filter.ts';
import type { MailQuery, Order } from '../../commands/mail/query.ts';
import type { FetchedMessage } from '../../commands/mail/message.ts';
import { keysetOf } from '../../commands/mail/query.ts';
import { asReached, searchedFolders } from '../../commands/kernel/folders.ts';
import { cursorAfter, encodeWaitCursor } from '../../commands/feed/wait-cursor.ts';
import { type CursorBinding, decodeCursor, encodeCursor, Page, pageFields } from '../paging/page.ts';
import { howManyFit } from './answer-size.ts';
import { bodyFields, bodyScopes, type BodyWindow, bodyWindow, cappedLimit, textFor } from './body-choice.ts';
import { DEPTH_OF, Message, messageId, type View, type Viewing } from './message-view.ts';
import { showMessages } from './show-messages.ts';
import { showPage } from './recent-pages.ts';
import { defineCapability } from '../../commands/kernel/capability.ts';
import { FolderArgument, MailboxIdParameter } from '../../commands/mail/select.ts';

/** A conversation of matching messages: ids newest first, and the newest message as a summary. */
export const ThreadItem = z.object({
  thread_id: z.string().nullable().describe('null: the message has no Message-ID to belong anywhere by.'),
  message_ids: z.array(z.string()),
  latest: Message,
});
type ThreadItem = z.output<typeof ThreadItem>;

export const MessagePage = z.object({
  items: z.array(z.union([Message, ThreadItem])),
  page: Page.extend({ evaluated_by: z.enum(['gateway', 'mail_server']).optional() }),
  count: z.int().optional(),
  exact: z.boolean().optional(),
});
export type MessagePage = z.output<typeof MessagePage>;

interface MessageRequest {
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

/** The mailbox of a mail route and the caller's access to it. Throws `not_found`. */
export function mailboxOf(context: Context, id: string): { mailbox: MailboxEntry; access: MailboxAccess } {
  const entry = context.ports.directory.state.mailboxes.get(id);
  const access = context.caller.mailboxes.get(id);
  if (!entry || !access) throw notFound('mailbox');
  return { mailbox: asReached(entry, access), access };
}

/** Finds, orders and formats a page. A read of bodies is recorded before the answer is sent. */
export async function readMessages(context: Context, request: MessageRequest): Promise<MessagePage> {
  const { ports } = context;
  const { mailbox, access } = mailboxOf(context, request.mailboxId);
  const { route, folder, filter, order, view } = request;
  const binding = { route, query: { mailbox: mailbox.id, folder, filter, order, view } };
  const query: MailQuery = {
    folders: searchedFolders(mailbox, folder, ports.locators),
    filter,
    order,
    limit: request.limit,
    after: request.cursor === undefined ? null : decodeCursor(context, binding, request.cursor, KeysetSchema),
    depth: DEPTH_OF[view],
    ...textFor(request.body),
    countOnly: view === 'count',
    byThread: view === 'threads',
  };
  const viewing: Viewing = { mailbox, access, locators: ports.locators, view, body: request.body };
  const { answer, items: shown, json } = await showPage(context, viewing, query);
  const fitting = answer.threads ? answer.messages.length : howManyFit(shown);
  const kept = answer.messages.slice(0, fitting);
  // The count alone, or an empty page, reveals whether a message contains a word.
  const isRead = looksIntoText(filter) || (request.body !== null && kept.length > 0);
  if (isRead) await recordBodies(context, viewing, kept);
  const page = {
    next_cursor: nextCursor(context, { binding, order, kept, answer }),
    limit: request.limit,
    as_of: encodeWaitCursor(ports.server.logId, cursorAfter(answer.asOf, ports.clock.now())),
    evaluated_by: answer.evaluatedBy,
  };
  if (json !== undefined) context.noteJson(`{"items":${json},"page":${JSON.stringify(page)}}`);
  return {
    items: answer.threads ? await showThreads(context, viewing, answer.threads) : shown.slice(0, fitting),
    page,
    ...(view === 'count' ? { count: answer.count ?? 0, exact: answer.isExact ?? true } : {}),
  };
}

async function showThreads(
  { ports }: Context,
  viewing: Viewing,
  threads: readonly (readonly FetchedMessage[])[],
): Promise<ThreadItem[]> {
  const newest = threads.flatMap(([first]) => first ?? []);
  const { show } = await showMessages(ports, { ...viewing, view: 'summary', body: null }, newest);
  return threads.flatMap((thread) => {
    const [latest] = thread;
    if (latest === undefined) return [];
    return {
      thread_id: latest.threadId ?? null,
      message_ids: thread.map(({ ref }) => messageId(viewing, ref)),
      latest: show(latest),
    };
  });
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

/** One event per request that returns bodies. */
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

const Input = z.strictObject({
  mailbox_id: MailboxIdParameter,
  folder: FolderArgument.optional().describe('Role, fld_ id or path; the inbox when absent.'),
  ...pageFields,
  ...bodyFields,
});
type Input = z.output<typeof Input>;

export const listMessages = defineCapability<Input, MessagePage>({
  name: 'list_messages',
  title: 'List messages',
  summary: 'The messages of a folder, newest first.',
  description: 'The messages of one folder, newest first. To filter or order them use email.query.',
  effect: 'read',
  access: { any: ['messages:read'], mailbox: (input) => input.mailbox_id, needs: bodyScopes },
  rest: { method: 'get', path: '/mailboxes/:mailbox_id/messages' },
  tool: null,
  idempotency: { kind: 'none' },
  input: Input,
  output: MessagePage,
  handle: (input, context) =>
    readMessages(context, {
      route: 'messages',
      mailboxId: input.mailbox_id,
      folder: input.folder ?? 'inbox',
      filter: {},
      order: 'received_desc',
      limit: cappedLimit(context, input, input.limit, 'limit'),
      cursor: input.cursor,
      view: 'summary',
      body: bodyWindow(input),
    }),
});
