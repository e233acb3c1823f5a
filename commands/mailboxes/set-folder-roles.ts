/** PUT /mailboxes/:mailbox_id/folder-roles: a person maps roles to folders, or has a folder created. */
import { z } from 'zod';
import { lineOfText } from '../values/input-fields.ts';
import { type Context, defineCapability } from '../kernel/capability.ts';
import type { FolderEntry, MailboxEntry } from '../ports/directory.ts';
import { folderRole } from '../values/event-fields.ts';
import { GatewayError, notFound } from '../values/errors.ts';
import { asReached, effectiveRoles, folderOfId } from '../kernel/folders.ts';
import { FOLDER_ROLES, type FolderRole } from '../values/folder-roles.ts';
import { MailboxIdParameter } from '../mail/select.ts';
import { changeMailbox, entryOf } from './change-mailbox.ts';
import { setFolderRoles } from './decide-folders.ts';
import { registerFolders } from './register-folders.ts';

export const FolderRoleMap = z
  .record(folderRole, z.string().nullable())
  .describe('Role → fld_ id, null = none.');
export type FolderRoleMap = z.output<typeof FolderRoleMap>;

/**
 * Every role of the contract with its current folder; null when there is none, or none within the caller's
 * grant.
 */
export function folderRolesFor(context: Pick<Context, 'caller' | 'ports'>, mailboxId: string): FolderRoleMap {
  const entry = entryOf(context, mailboxId);
  const access = context.caller.mailboxes.get(mailboxId);
  const roles = effectiveRoles(access ? asReached(entry, access) : entry);
  const { locators } = context.ports;
  const rows = FOLDER_ROLES.map((role) => {
    const number = roles[role];
    return [role, number === undefined ? null : locators.folder(entry.number, number)] as const;
  });
  return Object.fromEntries(rows) as FolderRoleMap;
}

const FolderChoice = z.union([
  z.string().startsWith('fld_').max(80),
  z.strictObject({ create: lineOfText(255) }).describe('The path of a folder to make, where it is missing.'),
  z.null().describe('No folder plays this role.'),
]);
type FolderChoice = z.output<typeof FolderChoice>;

const Input = z.strictObject({
  mailbox_id: MailboxIdParameter,
  roles: z
    .partialRecord(folderRole, FolderChoice)
    .refine((roles) => Object.keys(roles).length > 0, 'Name at least one role.')
    .describe('Roles that are not named stay as they are.'),
});
type Input = z.output<typeof Input>;

export const putFolderRoles = defineCapability<Input, FolderRoleMap>({
  name: 'set_folder_roles',
  title: 'Map folder roles',
  summary: 'Maps roles such as archive or trash to folders, or creates the folder.',
  description:
    'Maps each role named to a folder id, to null (none), or to {"create": "Archive"}, which makes the folder on the mail ' +
    'server where it is missing. A mapping takes precedence over the server. It changes what grants with folder_roles reach, so it ' +
    'needs mailboxes:grants too, in a session a fresh password, and a grant without folder_roles.',
  effect: 'write',
  access: {
    any: ['folders:manage'],
    mailbox: ({ mailbox_id }) => mailbox_id,
    // Grants bound to folder roles follow the mapping: a change of the mapping changes those grants.
    needs: () => ['folders:manage', 'mailboxes:grants'],
    steppedUp: true,
  },
  rest: { method: 'put', path: '/mailboxes/:mailbox_id/folder-roles', bodyField: 'roles' },
  tool: null,
  idempotency: {
    kind: 'claim',
    replay: async (_, { mailbox_id }, context, settled) =>
      settled ? folderRolesFor(context, mailbox_id) : null,
  },
  input: Input,
  output: FolderRoleMap,
  handle: async (input, context) => {
    const entry = entryOf(context, input.mailbox_id);
    assertUnbound(context, entry.id);
    const known = knownFolders(context, entry, input.roles);
    const created = await createdFolders(context, entry, input.roles);
    const roles = { ...known, ...created };
    await changeMailbox(context, entry.id, (state) => setFolderRoles(state, roles));
    return folderRolesFor(context, entry.id);
  },
});

/**
 * Throws `insufficient_scope` when the caller's grant is bound to folder roles: such a caller must not change
 * the mapping.
 */
function assertUnbound({ caller }: Context, mailboxId: string): void {
  const folderRoles = caller.mailboxes.get(mailboxId)?.folderRoles ?? null;
  if (folderRoles === null) return;
  const message = 'Your grant on this mailbox is limited to folder roles, so it cannot map them.';
  throw new GatewayError('insufficient_scope', message, {
    details: { required: [], folder_roles: folderRoles },
  });
}

type Choices = Readonly<Partial<Record<FolderRole, FolderChoice>>>;
type Numbers = Partial<Record<FolderRole, number | null>>;

const choicesOf = (roles: Choices) =>
  Object.entries(roles).map(([role, choice]) => ({ role: role as FolderRole, choice }));

/** Throws `not_found` for an id that names no folder of this mailbox. */
function knownFolders({ ports }: Context, entry: MailboxEntry, roles: Choices): Numbers {
  const numbers: Numbers = {};
  for (const { role, choice } of choicesOf(roles)) {
    if (choice === null) numbers[role] = null;
    if (typeof choice !== 'string') continue;
    const folder = folderOfId(entry, choice, ports.locators);
    if (!folder) throw notFound('folder');
    numbers[role] = folder.number;
  }
  return numbers;
}

/** Creates missing folders on the mail server and numbers them. An existing folder is used as it is. */
async function createdFolders(context: Context, entry: MailboxEntry, roles: Choices): Promise<Numbers> {
  const wanted = choicesOf(roles).flatMap(({ role, choice }) =>
    typeof choice === 'object' && choice !== null ? [{ role, path: choice.create }] : [],
  );
  if (wanted.length === 0) return {};
  const { ports, author } = context;
  const listing = await ports.mail.withMailbox(entry.id, 'interactive', async (mail) => {
    await context.claim('req');
    const there = new Set((await mail.listFolders()).map(({ path }) => path));
    for (const path of new Set(wanted.map(({ path }) => path))) {
      if (!there.has(path)) await mail.createFolder(path);
    }
    return await mail.listFolders();
  });
  const folders = await registerFolders(ports, author, entry.id, listing);
  return Object.fromEntries(wanted.map(({ role, path }) => [role, numberAt(folders, path)]));
}

function numberAt(folders: readonly FolderEntry[], path: string): number {
  const folder = folders.find((candidate) => candidate.path === path);
  if (folder) return folder.number;
  throw new GatewayError(
    'provider_rejected',
    'The mail server created the new folder elsewhere (a prefix such as "INBOX." may be needed); see folders/list.',
  );
}
