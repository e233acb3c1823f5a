/** Gmail shows one message in a folder per label: finds those folders (X-GM-EXT-1, Google's "IMAP extensions"). */
import type { FetchMessageObject } from 'imapflow';
import type { MailboxEntry } from '../../commands/ports/directory.ts';
import type { FetchedMessage, FolderRef } from '../../commands/mail/message.ts';
import { FOLDER_ROLES, type FolderRole } from '../../commands/values/folder-roles.ts';

/** A folder of the mailbox with the role that the server itself assigns. */
export interface LabelledFolder extends FolderRef {
  readonly role: FolderRole | null;
}

/** Folders that can hold messages; a role that a person mapped does not concern labels. */
export const labelledFolders = ({
  folders,
  detectedRoles,
}: Pick<MailboxEntry, 'folders' | 'detectedRoles'>): readonly LabelledFolder[] =>
  folders
    .filter(({ availability = 'selectable' }) => availability === 'selectable')
    .map(({ number, path }) => ({
      number,
      path,
      role: FOLDER_ROLES.find((role) => detectedRoles[role] === number) ?? null,
    }));

/** System labels, in lower case; any other label is the path of its folder. */
const ROLE_OF_LABEL: Readonly<Record<string, FolderRole>> = {
  '\\inbox': 'inbox',
  '\\sent': 'sent',
  '\\draft': 'drafts',
  '\\drafts': 'drafts',
  '\\starred': 'flagged',
  '\\flagged': 'flagged',
  '\\important': 'important',
};

/** A message in one of these is in no other folder. */
const ALONE: ReadonlySet<FolderRole | null | undefined> = new Set(['trash', 'junk']);

type Shared = Pick<FetchedMessage, 'providerId' | 'alsoIn'>;

/** The provider's id of a fetched message and the other folders it is in; nothing for a server without the extension. */
export function sharedBy(
  folders: readonly LabelledFolder[] | null,
  { emailId, labels = new Set() }: FetchMessageObject,
  folder: FolderRef,
): Shared {
  // X-GM-MSGID is an unsigned integer of 64 bits.
  if (folders === null || emailId === undefined || !/^\d{1,20}$/.test(emailId)) return {};
  return { providerId: emailId, alsoIn: othersOf(folders, labels, folder) };
}

/** The label of the folder itself may be reported or omitted; All Mail has none. */
function othersOf(
  folders: readonly LabelledFolder[],
  labels: ReadonlySet<string>,
  { number: own }: FolderRef,
): readonly number[] {
  if (ALONE.has(folders.find(({ number }) => number === own)?.role)) return [];
  const roles = new Set([...labels].flatMap((label) => ROLE_OF_LABEL[label.toLowerCase()] ?? []));
  return folders
    .filter(({ path, role }) => role === 'all_mail' || labels.has(path) || (role !== null && roles.has(role)))
    .map(({ number }) => number)
    .filter((number) => number !== own)
    .sort((a, b) => a - b);
}
