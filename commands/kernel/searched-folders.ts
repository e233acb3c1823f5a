/** Which folders a selection looks into, within what the caller's grant allows. */
import type { MailboxAccess } from './access.ts';
import type { MailboxEntry } from '../ports/directory.ts';
import {
  allSelectable,
  assertFoldersKnown,
  effectiveRoles,
  inHomeOrder,
  resolveFolder,
  roleOfFolder,
} from './folders.ts';
import type { FolderRef } from '../mail/message.ts';
import type { Locators } from '../ports/ports.ts';

type Reach = Pick<MailboxAccess, 'folderRoles'>;

/** By entry and roles: the same entry is asked for again and again, and answers are kept by it. */
const reached = new WeakMap<MailboxEntry, Map<string, MailboxEntry>>();

/**
 * The mailbox as a grant reaches it: where it is bound to folder roles, the other folders are not there, so that whatever
 * names one of them is answered as if it named none.
 */
export function asReached(mailbox: MailboxEntry, access: Reach): MailboxEntry {
  if (access.folderRoles === null) return mailbox;
  const views = reached.get(mailbox) ?? new Map<string, MailboxEntry>();
  reached.set(mailbox, views);
  const roles = access.folderRoles.toSorted().join();
  const known = views.get(roles);
  if (known) return known;
  const folders = mailbox.folders.filter(({ number }) => isFolderAllowed(access, mailbox, number));
  const view = { ...mailbox, folders, hasHiddenFolders: folders.length < mailbox.folders.length };
  views.set(roles, view);
  return view;
}

/** True when the grant is not bound to folder roles, or the folder has one of them. */
export function isFolderAllowed(access: Reach, mailbox: MailboxEntry, folderNumber: number): boolean {
  if (access.folderRoles === null) return true;
  const role = roleOfFolder(mailbox, folderNumber);
  return role !== null && access.folderRoles.includes(role);
}

/**
 * The folders of a selection: the one named; `all` = every folder; absent = all but trash and junk. Of the mailbox as the
 * caller's grant reaches it. In home order (`home-folder.ts`).
 * Throws as `assertFoldersKnown` and `resolveFolder`.
 */
export function searchedFolders(
  mailbox: MailboxEntry,
  argument: string | undefined,
  locators: Locators,
): readonly FolderRef[] {
  if (argument !== undefined && argument !== 'all') return [resolveFolder(mailbox, argument, locators)];
  assertFoldersKnown(mailbox);
  const { trash, junk } = effectiveRoles(mailbox);
  const leftOut = argument === 'all' ? [] : [trash, junk];
  const searched = allSelectable(mailbox).filter(({ number }) => !leftOut.includes(number));
  return inHomeOrder(mailbox, searched);
}
