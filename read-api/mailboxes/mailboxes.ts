/** GET /mailboxes, /mailboxes/:mailbox_id and its folder roles. */
import { z } from 'zod';
import { managesEveryMailbox } from '../../commands/kernel/access.ts';
import { defineCapability } from '../../commands/kernel/capability.ts';
import { MailboxIdParameter } from '../../commands/mail/select.ts';
import { entryOf } from '../../commands/mailboxes/change-mailbox.ts';
import { FolderRoleMap, folderRolesFor } from '../../commands/mailboxes/set-folder-roles.ts';
import { describeMailbox, describeMailboxes, Mailbox } from '../../commands/mailboxes/mailbox-payload.ts';
import { collectionOf, pageFields, pageOfEntries } from '../paging/page.ts';

const Mailboxes = collectionOf(Mailbox);
const ListInput = z.strictObject({
  removed: z
    .boolean()
    .optional()
    .describe('True = those that were removed and can still be restored; for owners and admins.'),
  ...pageFields,
});
const GetInput = z.strictObject({ mailbox_id: MailboxIdParameter });
type GetInput = z.output<typeof GetInput>;

export const listMailboxes = defineCapability<z.output<typeof ListInput>, z.output<typeof Mailboxes>>({
  name: 'list_mailboxes',
  title: 'List mailboxes',
  summary: 'Mailboxes with a grant, newest first; owners and admins see every one.',
  description:
    'Mailboxes you have a grant on; owners and admins see those of the organisation. Removed ones are left out, unless `removed` is true.',
  effect: 'read',
  access: { any: ['mailboxes:read'] },
  rest: { method: 'get', path: '/mailboxes' },
  tool: null,
  idempotency: { kind: 'none' },
  input: ListInput,
  output: Mailboxes,
  handle: async (input, context) => {
    const { caller, ports } = context;
    const all = managesEveryMailbox(caller);
    const removed = input.removed === true;
    const entries = [...ports.directory.state.mailboxes.values()].filter(
      ({ id, orgId, state, eraseAt }) =>
        orgId === caller.org.id &&
        (removed ? state === 'removed' && eraseAt !== null : state !== 'removed') &&
        (all || caller.mailboxes.has(id)),
    );
    const describe = (entry: (typeof entries)[number]) => entry;
    const shown = pageOfEntries(context, { route: 'mailboxes', query: removed ? { removed } : null }, input, {
      entries,
      describe,
    });
    return { ...shown, items: await describeMailboxes(ports, shown.items) };
  },
});

export const getMailbox = defineCapability<GetInput, Mailbox>({
  name: 'get_mailbox',
  title: 'Get a mailbox',
  summary: 'One mailbox: state, hosts, folder roles, capabilities.',
  description:
    'One mailbox: its connection state, hosts, folder roles and what its server can do. Never credentials.',
  effect: 'read',
  access: { any: ['mailboxes:read'], mailbox: ({ mailbox_id }) => mailbox_id },
  rest: { method: 'get', path: '/mailboxes/:mailbox_id' },
  tool: null,
  idempotency: { kind: 'none' },
  input: GetInput,
  output: Mailbox,
  etag: ({ version }) => String(version),
  handle: async ({ mailbox_id }, context) =>
    await describeMailbox(context.ports, entryOf(context, mailbox_id)),
});

export const getFolderRoles = defineCapability<GetInput, FolderRoleMap>({
  name: 'get_folder_roles',
  title: 'Get folder roles',
  summary: 'The folder of each role; null = no such folder.',
  description: 'Role → folder id, from the mapping of a person or from the server; null = no such folder.',
  effect: 'read',
  access: { any: ['folders:read'], mailbox: ({ mailbox_id }) => mailbox_id },
  rest: { method: 'get', path: '/mailboxes/:mailbox_id/folder-roles' },
  tool: null,
  idempotency: { kind: 'none' },
  input: GetInput,
  output: FolderRoleMap,
  handle: async ({ mailbox_id }, context) => folderRolesFor(context, mailbox_id),
});
