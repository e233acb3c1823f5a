/** Folder arguments and roles, resolved against what the directory knows of a mailbox (`contract.md` 4). Pure. */
import type { FolderEntry, MailboxEntry } from '../ports/directory.ts';
import { GatewayError } from '../values/errors.ts';
import type { FolderRef } from '../mail/message.ts';
import { FOLDER_ROLES, type FolderRole } from '../values/folder-roles.ts';
import type { Locators } from '../ports/ports.ts';

type FoldersOfMailbox = Pick<MailboxEntry, 'folders' | 'folderRoles' | 'detectedRoles'>;
/** What says whether the folders are known yet. */
type ListedMailbox = FoldersOfMailbox &
  Pick<MailboxEntry, 'state' | 'awaitsAuthorization' | 'hasHiddenFolders'>;

const RETRY_SECONDS = 5;

/**
 * Throws where the folders of the mailbox are not known yet, so that "not read yet" is never reported as "empty":
 * `mailbox_auth_failed` when its credentials are refused or missing, `conflict` when it is paused, else `mailbox_unavailable`.
 */
export function assertFoldersKnown({
  folders,
  hasHiddenFolders,
  state,
  awaitsAuthorization,
}: ListedMailbox): void {
  if (folders.length > 0 || hasHiddenFolders === true) return;
  if (state === 'auth_failed' || awaitsAuthorization === true) {
    const message =
      awaitsAuthorization === true
        ? 'This mailbox waits for the authorization of its provider; authorize it first.'
        : 'The mail server refuses the stored credentials; store new ones.';
    throw new GatewayError('mailbox_auth_failed', message, { details: { state } });
  }
  if (state === 'paused') {
    throw new GatewayError('conflict', 'The mailbox is paused; resume it with PATCH {"paused": false}.');
  }
  const message =
    state === 'connection_failed'
      ? 'The mail server of this mailbox could not be reached yet; read its state, or try again.'
      : 'This mailbox is being connected and its folders are not known yet; try again.';
  throw new GatewayError('mailbox_unavailable', message, {
    details: { reason: 'not_connected_yet', state },
    retryAfterSeconds: RETRY_SECONDS,
  });
}

const roleWords: ReadonlySet<string> = new Set(FOLDER_ROLES);

/** The role a word names, `spam` being `junk`; null for anything else. */
export function roleOfWord(word: string): FolderRole | null {
  if (word === 'spam') return 'junk';
  return roleWords.has(word) ? (word as FolderRole) : null;
}

/** RFC 3501 5.1: INBOX is the one name that is the same in every case. */
const isInbox = (path: string): boolean => path.toUpperCase() === 'INBOX';

/** Folder number by role: a person's mapping overrides what was detected. */
export function effectiveRoles(mailbox: FoldersOfMailbox): Partial<Record<FolderRole, number>> {
  const roles: Partial<Record<FolderRole, number>> = {};
  const known = new Set(mailbox.folders.filter(isPresent).map(({ number }) => number));
  for (const role of FOLDER_ROLES) {
    const mapped = mailbox.folderRoles[role];
    const number = mapped === undefined ? mailbox.detectedRoles[role] : mapped;
    if (number != null && known.has(number)) roles[role] = number;
  }
  if (roles.inbox === undefined && mailbox.folderRoles.inbox === undefined) {
    const inbox = mailbox.folders.find((folder) => isPresent(folder) && isInbox(folder.path));
    if (inbox) roles.inbox = inbox.number;
  }
  return roles;
}

/** The role of a folder, or null. One folder of several roles has the first of the contract's list. */
export function roleOfFolder(mailbox: FoldersOfMailbox, number: number): FolderRole | null {
  const roles = effectiveRoles(mailbox);
  return FOLDER_ROLES.find((role) => roles[role] === number) ?? null;
}

/** Says alike of what is not there and of what the grant does not reach. */
const unknownFolder = (): GatewayError =>
  new GatewayError(
    'not_found',
    'There is no such folder, or this token may not see it. GET …/folders/list or email_query with select.type "folders" lists the folders.',
    { details: { suggested_tool: 'email_query' } },
  );

/** The folder of a role. Throws `folder_role_missing` when the mailbox has none, and as `assertFoldersKnown`. */
export function folderOfRole(mailbox: ListedMailbox, role: FolderRole): FolderRef {
  assertFoldersKnown(mailbox);
  const number = effectiveRoles(mailbox)[role];
  const folder = mailbox.folders.find((entry) => entry.number === number);
  if (folder) return refOf(folder);
  throw new GatewayError(
    'folder_role_missing',
    `This mailbox has no ${role} folder; map or create one with PUT …/folder-roles.`,
    { details: { role } },
  );
}

/** Every folder that can hold messages, as far as they are known (`assertFoldersKnown`). */
export const allSelectable = (mailbox: FoldersOfMailbox): readonly FolderRef[] =>
  mailbox.folders.filter(isSelectable).map(refOf);

/**
 * One folder from a role word, a `fld_` id, an exact path or `path:…`. Throws `folder_role_missing`, `not_found` (also
 * for another mailbox's id), `invalid_request` for `all`, `conflict` for a folder that cannot hold messages, and as
 * `assertFoldersKnown`.
 */
export function resolveFolder(mailbox: MailboxEntry, argument: string, locators: Locators): FolderRef {
  if (argument === 'all') {
    const message = 'Name one folder here; "all" is only understood where messages are searched.';
    throw new GatewayError('invalid_request', message, {
      details: { issues: [{ path: 'folder', code: 'custom', message }] },
    });
  }
  assertFoldersKnown(mailbox);
  const role = roleOfWord(argument);
  if (role) return folderOfRole(mailbox, role);
  const folder = argument.startsWith('fld_')
    ? folderOfId(mailbox, argument, locators)
    : folderOfPath(mailbox, argument.startsWith('path:') ? argument.slice('path:'.length) : argument);
  if (!folder || !isPresent(folder)) throw unknownFolder();
  if (!isSelectable(folder)) {
    throw new GatewayError('conflict', 'This folder only holds other folders; name one of those.');
  }
  return refOf(folder);
}

/** The entry behind a `fld_` id of this mailbox, or null. */
export function folderOfId(mailbox: MailboxEntry, id: string, locators: Locators): FolderEntry | null {
  const place = locators.openFolder(id);
  if (place?.mailboxNumber !== mailbox.number) return null;
  return mailbox.folders.find(({ number }) => number === place.folderNumber) ?? null;
}

const folderOfPath = (mailbox: MailboxEntry, path: string): FolderEntry | null =>
  mailbox.folders.find((entry) => entry.path === path || (isInbox(path) && isInbox(entry.path))) ?? null;

const isPresent = (folder: FolderEntry): boolean => folder.availability !== 'missing';
const isSelectable = (folder: FolderEntry): boolean =>
  folder.availability === undefined || folder.availability === 'selectable';

const refOf = ({ number, path }: FolderEntry): FolderRef => ({ number, path });

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
