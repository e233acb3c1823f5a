/**
 * A message that its provider shows in several folders at once is one item (`contract.md` 4): found in its home, which is
 * the first of the folders searched that it lies in. Pure.
 */
import type { MailboxEntry } from '../ports/directory.ts';
import { effectiveRoles } from './folders.ts';
import type { FolderRef } from '../mail/message.ts';
import type { FolderRole } from '../values/folder-roles.ts';

/** Views of what lies elsewhere too: to take a message out of one of them is not what people mean by moving it. */
const LAST: readonly FolderRole[] = ['important', 'flagged', 'all_mail'];

/** Folders in the order in which they are a message's home: INBOX, then the others as given, the views last. */
export function inHomeOrder(
  mailbox: Pick<MailboxEntry, 'folders' | 'folderRoles' | 'detectedRoles'>,
  folders: readonly FolderRef[],
): readonly FolderRef[] {
  const roles = effectiveRoles(mailbox);
  const rank = ({ number }: FolderRef): number =>
    number === roles.inbox ? -1 : LAST.findIndex((role) => roles[role] === number) + 1;
  return folders.toSorted((a, b) => rank(a) - rank(b));
}

/** True when none of the folders searched before this one holds the message too; `searched` in home order. */
export function isHome(
  folderNumber: number,
  alsoIn: readonly number[],
  searched: readonly number[],
): boolean {
  const own = searched.indexOf(folderNumber);
  return !searched.slice(0, own).some((number) => alsoIn.includes(number));
}
