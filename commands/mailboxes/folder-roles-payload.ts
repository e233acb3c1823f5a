/** The role map of a mailbox as callers see it. */
import { z } from 'zod';
import type { Context } from '../kernel/capability.ts';
import { folderRole } from '../values/event-fields.ts';
import { effectiveRoles } from '../kernel/folders.ts';
import { FOLDER_ROLES } from '../values/folder-roles.ts';
import { asReached } from '../kernel/searched-folders.ts';
import { entryOf } from './change-mailbox.ts';

export const FolderRoleMap = z
  .record(folderRole, z.string().nullable())
  .describe('Role → fld_ id, null = none.');
export type FolderRoleMap = z.output<typeof FolderRoleMap>;

/** Every role of the contract's list with its folder now; null where there is none, or none that the caller's grant reaches. */
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
