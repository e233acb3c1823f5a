/** Which folders a selection looks into, within what the caller's grant allows. */
import type { MailboxAccess } from './access.ts';
import type { MailboxEntry } from './directory.ts';
import { GatewayError } from './errors.ts';
import { allSelectable, assertFoldersKnown, effectiveRoles, resolveFolder, roleOfFolder } from './folders.ts';
import { inHomeOrder } from './home-folder.ts';
import type { FolderRef } from './mail-port.ts';
import type { Locators } from './ports.ts';

/** Throws `insufficient_scope` when the grant is bound to folder roles and this folder has none of them. */
export function assertFolderAllowed(access: MailboxAccess, mailbox: MailboxEntry, folder: FolderRef): void {
  if (isFolderAllowed(access, mailbox, folder.number)) return;
  throw new GatewayError('insufficient_scope', 'The grant on this mailbox does not reach that folder.', {
    details: { required: [], folder_roles: access.folderRoles ?? [] },
  });
}

/** True when the grant is not bound to folder roles, or the folder has one of them. */
export function isFolderAllowed(access: MailboxAccess, mailbox: MailboxEntry, folderNumber: number): boolean {
  if (access.folderRoles === null) return true;
  const role = roleOfFolder(mailbox, folderNumber);
  return role !== null && access.folderRoles.includes(role);
}

/**
 * The folders of a selection: the one named; `all` = every folder; absent = all but trash and junk. A grant bound to
 * folder roles narrows the last two and refuses a folder named outside of it. In home order (`home-folder.ts`).
 * Throws as `assertFoldersKnown` and `resolveFolder`.
 */
export function searchedFolders(
  mailbox: MailboxEntry,
  argument: string | undefined,
  access: MailboxAccess,
  locators: Locators,
): readonly FolderRef[] {
  if (argument !== undefined && argument !== 'all') {
    const folder = resolveFolder(mailbox, argument, locators);
    assertFolderAllowed(access, mailbox, folder);
    return [folder];
  }
  assertFoldersKnown(mailbox);
  const { trash, junk } = effectiveRoles(mailbox);
  const leftOut = argument === 'all' ? [] : [trash, junk];
  const searched = allSelectable(mailbox).filter(
    ({ number }) => !leftOut.includes(number) && isFolderAllowed(access, mailbox, number),
  );
  return inHomeOrder(mailbox, searched);
}
