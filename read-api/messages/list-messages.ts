/** The messages of a folder, newest first. */
import { z } from 'zod';
import { defineCapability } from '../../commands/kernel/capability.ts';
import { FolderArgument, MailboxIdParameter } from '../../commands/mail/select.ts';
import { bodyFields, bodyScopes, bodyWindow, cappedLimit } from './body-choice.ts';
import { MessagePage, readMessages } from './read-messages.ts';
import { pageFields } from '../paging/page.ts';

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
