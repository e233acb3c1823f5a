/** The role map of a mailbox as callers see it. */
import { z } from 'zod';
import type { MailboxEntry } from '../kernel/directory.ts';
import { folderRole } from '../kernel/event-fields.ts';
import { effectiveRoles } from '../kernel/folders.ts';
import { FOLDER_ROLES } from '../kernel/mail-port.ts';
import type { Locators } from '../kernel/ports.ts';

export const FolderRoleMap = z
  .record(folderRole, z.string().nullable())
  .describe('Role → fld_ id, null = none.');
export type FolderRoleMap = z.output<typeof FolderRoleMap>;

/** Every role of the contract's list with its folder now, or null. */
export function describeFolderRoles(entry: MailboxEntry, locators: Locators): FolderRoleMap {
  const roles = effectiveRoles(entry);
  const rows = FOLDER_ROLES.map((role) => {
    const number = roles[role];
    return [role, number === undefined ? null : locators.folder(entry.number, number)] as const;
  });
  return Object.fromEntries(rows) as FolderRoleMap;
}
