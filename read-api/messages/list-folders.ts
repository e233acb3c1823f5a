/** folders/list: the current folders of a mailbox on the server. */
import { z } from 'zod';
import type { MailboxAccess } from '../../commands/kernel/access.ts';
import { type Context, defineCapability } from '../../commands/kernel/capability.ts';
import type { FolderEntry, MailboxEntry } from '../../commands/ports/directory.ts';
import { isFolderAllowed, roleOfFolder } from '../../commands/kernel/folders.ts';
import type { FolderListing } from '../../commands/ports/mail-port.ts';
import { FOLDER_ROLES, type FolderRole } from '../../commands/values/folder-roles.ts';
import { MailboxIdParameter } from '../../commands/mail/select.ts';
import { systemAuthor } from '../../commands/kernel/decide-and-append.ts';
import { registerFolders } from '../../commands/mailboxes/register-folders.ts';
import { mailboxOf } from './read-messages.ts';
import { collectionOf, decodeCursor, encodeCursor, pageFields, pageLimit } from '../paging/page.ts';

export const Folder = z.object({
  id: z.string(),
  path: z.string(),
  name: z.string(),
  role: z.enum(FOLDER_ROLES).nullable(),
  role_source: z.enum(['extension', 'name', 'user']).nullable(),
  parent_id: z.string().nullable(),
  total: z.int().nullable(),
  unseen: z.int().nullable(),
  selectable: z.boolean(),
});
type Folder = z.output<typeof Folder>;
const Folders = collectionOf(Folder);

const Input = z.strictObject({ mailbox_id: MailboxIdParameter, ...pageFields });
type Input = z.output<typeof Input>;

export const listFolders = defineCapability<Input, z.output<typeof Folders>>({
  name: 'list_folders',
  title: 'List folders',
  summary: 'Folders of a mailbox with roles and counts.',
  description:
    'Folders of one mailbox: id, path, role, counts. Use the id or role wherever a folder is required.',
  effect: 'read',
  access: { any: ['folders:read'], mailbox: (input) => input.mailbox_id },
  rest: { method: 'get', path: '/mailboxes/:mailbox_id/folders/list' },
  tool: {
    surface: 'granular',
    hints: { readOnly: true, destructive: false, idempotent: true, openWorld: true },
  },
  idempotency: { kind: 'none' },
  input: Input,
  output: Folders,
  handle: (input, context) => readFolders(context, input),
});

/** The folders a caller may see, in order of path. Throws `not_found`, and the mail server's errors. */
export async function readFolders(context: Context, input: Input): Promise<z.output<typeof Folders>> {
  const { ports } = context;
  const { mailbox, access } = mailboxOf(context, input.mailbox_id);
  const limit = pageLimit(context, input.limit);
  const binding = { route: 'folders/list', query: mailbox.id };
  const after = input.cursor === undefined ? '' : decodeCursor(context, binding, input.cursor, z.string());
  const asOf = ports.clock.now().toISOString();
  const listing = await ports.mail.withMailbox(mailbox.id, 'interactive', (mail) => mail.listFolders());
  const entries = await numbered(context, mailbox, listing);
  const allowed = listing.filter(({ path }) =>
    isFolderAllowed(access, mailbox, entries.get(path)?.number ?? 0),
  );
  const rest = allowed.toSorted((a, b) => (a.path < b.path ? -1 : 1)).filter(({ path }) => path > after);
  const shown = rest.slice(0, limit);
  const last = rest.length > limit ? shown.at(-1) : undefined;
  return {
    items: shown.flatMap((folder) => describeFolder(context, { mailbox, access, entries, folder })),
    page: { next_cursor: last ? encodeCursor(context, binding, last.path) : null, limit, as_of: asOf },
  };
}

/** Every folder gets its number before an id of it is returned. */
async function numbered(
  { ports }: Context,
  mailbox: MailboxEntry,
  listing: readonly FolderListing[],
): Promise<ReadonlyMap<string, FolderEntry>> {
  const author = systemAuthor(ports, mailbox.orgId);
  const entries = await registerFolders(ports, author, mailbox.id, listing);
  return new Map(entries.map((entry) => [entry.path, entry]));
}

interface Described {
  readonly mailbox: MailboxEntry;
  readonly access: MailboxAccess;
  readonly entries: ReadonlyMap<string, FolderEntry>;
  readonly folder: FolderListing;
}

function describeFolder({ ports }: Context, { mailbox, access, entries, folder }: Described): Folder[] {
  const entry = entries.get(folder.path);
  if (!entry) return [];
  const idOf = ({ number }: FolderEntry): string => ports.locators.folder(mailbox.number, number);
  const above = folder.parentPath === null ? undefined : entries.get(folder.parentPath);
  const parent = above && isFolderAllowed(access, mailbox, above.number) ? above : undefined;
  const role: FolderRole | null = roleOfFolder(mailbox, entry.number) ?? folder.role;
  const byPerson = role !== null && mailbox.folderRoles[role] === entry.number;
  return [
    {
      id: idOf(entry),
      path: folder.path,
      name: folder.name,
      role,
      role_source: byPerson ? 'user' : role === null ? null : folder.roleSource,
      parent_id: parent ? idOf(parent) : null,
      total: folder.total,
      unseen: folder.unseen,
      selectable: folder.selectable,
    },
  ];
}
