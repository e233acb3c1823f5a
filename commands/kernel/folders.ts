/** Resolves folder arguments and roles with the folders of a mailbox in the directory (`contract.md` 4). Pure. */
import type { FolderEntry, MailboxEntry } from '../ports/directory.ts';
import { GatewayError } from '../values/errors.ts';
import type { FolderRef } from '../mail/message.ts';
import { FOLDER_ROLES, type FolderRole } from '../values/folder-roles.ts';
import type { Locators } from '../ports/ports.ts';
import type { MailboxAccess } from './access.ts';

type FoldersOfMailbox = Pick<MailboxEntry, 'folders' | 'folderRoles' | 'detectedRoles'>;
type ListedMailbox = FoldersOfMailbox &
  Pick<MailboxEntry, 'state' | 'awaitsAuthorization' | 'hasHiddenFolders'>;

const RETRY_SECONDS = 5;

/**
 * Throws while the folders of the mailbox are not known yet, so that "not read yet" is never reported as "empty":
 * `mailbox_auth_failed` when its credentials are refused or missing, `conflict` when it is paused, else `mailbox_unavailable`.
 */
function assertFoldersKnown({ folders, hasHiddenFolders, state, awaitsAuthorization }: ListedMailbox): void {
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

/** The role of a word; `spam` is `junk`. Null for any other word. */
function roleOfWord(word: string): FolderRole | null {
  if (word === 'spam') return 'junk';
  return roleWords.has(word) ? (word as FolderRole) : null;
}

/** RFC 3501 5.1: only INBOX is case-insensitive. */
const isInbox = (path: string): boolean => path.toUpperCase() === 'INBOX';

/** By mailbox, which is replaced when it changes: each message of a page shows the role of its folder. */
const rolesOf = new WeakMap<FoldersOfMailbox, FolderNumbers>();

type FolderNumbers = Readonly<Partial<Record<FolderRole, number>>>;

/** Folder number by role: a person's mapping overrides the detected one. */
export function effectiveRoles(mailbox: FoldersOfMailbox): FolderNumbers {
  const known = rolesOf.get(mailbox);
  if (known !== undefined) return known;
  const roles = rolesNow(mailbox);
  rolesOf.set(mailbox, roles);
  return roles;
}

function rolesNow(mailbox: FoldersOfMailbox): FolderNumbers {
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

/** The same error for a folder that does not exist and for one outside the grant. */
const unknownFolder = (): GatewayError =>
  new GatewayError(
    'not_found',
    'There is no such folder, or this token may not see it. GET …/folders/list or email_query with select.type "folders" lists the folders.',
    { details: { suggested_tool: 'email_query' } },
  );

/** The folder of a role. Throws `folder_role_missing`, and what `assertFoldersKnown` throws. */
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
 * for another mailbox's id), `invalid_request` for `all`, `conflict` for a folder that cannot hold messages, and what
 * `assertFoldersKnown` throws.
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

/** Views on messages of other folders: a message is not moved by removing it from a view. */
const LAST: readonly FolderRole[] = ['important', 'flagged', 'all_mail'];

/** Folders in home order, the order of preference for a message in several: INBOX, the others as given, the views last. */
export function inHomeOrder(
  mailbox: Pick<MailboxEntry, 'folders' | 'folderRoles' | 'detectedRoles'>,
  folders: readonly FolderRef[],
): readonly FolderRef[] {
  const roles = effectiveRoles(mailbox);
  const rank = ({ number }: FolderRef): number =>
    number === roles.inbox ? -1 : LAST.findIndex((role) => roles[role] === number) + 1;
  return folders.toSorted((a, b) => rank(a) - rank(b));
}

/** True when no folder before this one contains the message too; `searched` is in home order. */
export function isHome(
  folderNumber: number,
  alsoIn: readonly number[],
  searched: readonly number[],
): boolean {
  const own = searched.indexOf(folderNumber);
  return !searched.slice(0, own).some((number) => alsoIn.includes(number));
}

type Reach = Pick<MailboxAccess, 'folderRoles'>;

/** By entry and roles: answers are cached by the entry, so each call must return the same one. */
const reached = new WeakMap<MailboxEntry, Map<string, MailboxEntry>>();

/**
 * The mailbox without the folders that a grant excludes: a request that names one of them is answered as if it did not
 * exist.
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

/** True when the grant has no folder roles, or the folder has one of them. */
export function isFolderAllowed(access: Reach, mailbox: MailboxEntry, folderNumber: number): boolean {
  if (access.folderRoles === null) return true;
  const role = roleOfFolder(mailbox, folderNumber);
  return role !== null && access.folderRoles.includes(role);
}

/**
 * The folders of a selection, in home order: the named one; `all` = every folder; absent = all except trash and junk.
 * `mailbox` is as the caller reaches it (`asReached`). Throws what `assertFoldersKnown` and `resolveFolder` throw.
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
