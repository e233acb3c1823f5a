/** Numbers every folder the server lists, before any id that contains the number is returned. */
import { type Author, decideAndAppend, loadAggregate } from '../kernel/decide-and-append.ts';
import type { FolderEntry, MailboxEntry } from '../ports/directory.ts';
import { GatewayError } from '../values/errors.ts';
import type { FolderListing } from '../ports/mail-port.ts';
import { FOLDER_ROLES, type FolderRole } from '../values/folder-roles.ts';
import type { Ports } from '../ports/ports.ts';
import type { Sealed } from '../values/sealed.ts';
import { type KnownPaths, type ListedFolder, numberFolders, recordFolders } from './decide-folders.ts';
import { mailbox, type MailboxRecord } from './mailbox.ts';

type RegisterPorts = Pick<Ports, 'events' | 'ids' | 'clock' | 'personal' | 'directory'>;

/**
 * The listed folders with their numbers, in the order listed. Writes only changes, and then waits until the
 * directory has them. Throws `store_unavailable`.
 */
export async function registerFolders(
  ports: RegisterPorts,
  author: Author,
  mailboxId: string,
  listing: readonly FolderListing[],
): Promise<readonly FolderEntry[]> {
  const listed = listing.map((folder): ListedFolder => ({
    path: folder.path,
    pathKey: folderKey(ports, mailboxId, folder.path),
    selectable: folder.selectable,
    uidValidity: folder.uidValidity,
    role: folder.role,
    roleSource: folder.roleSource,
  }));
  const entry = ports.directory.state.mailboxes.get(mailboxId);
  if (entry && holdsFolders(entry, listing)) return numbered(entry.folders, listing);
  const { state: before } = await loadAggregate(ports.events, mailbox, mailboxId);
  const paths = pathsOf(entry?.folders ?? [], listing);
  const sealed = await sealUnknown(ports, mailboxId, before, listed);
  const { state, appended } = await decideAndAppend(ports, author, mailbox, {
    id: mailboxId,
    decide: (current) => recordFolders(current, listed, paths, (key) => sealedOr(sealed, key)),
  });
  if (appended) await ports.directory.waitFor(appended.position);
  const numbers = numberFolders(state, listed, paths);
  return listed.flatMap(({ path, pathKey, selectable }): FolderEntry[] => {
    const number = numbers.get(pathKey);
    return number === undefined
      ? []
      : [{ number, path, availability: selectable ? 'selectable' : 'container' }];
  });
}

/** True when the directory has every listed folder with its current role, and marks all others missing. */
function holdsFolders(entry: MailboxEntry, listing: readonly FolderListing[]): boolean {
  const listed = new Map(listing.map((folder) => [folder.path, folder]));
  const known = new Map(entry.folders.map((folder) => [folder.path, folder]));
  return (
    entry.folders.every(({ path, availability }) => listed.has(path) || availability === 'missing') &&
    listing.every(({ path, selectable }) => known.get(path)?.availability === availabilityOf(selectable)) &&
    FOLDER_ROLES.every((role) => entry.detectedRoles[role] === known.get(pathOfRole(listing, role))?.number)
  );
}

const availabilityOf = (selectable: boolean): 'selectable' | 'container' =>
  selectable ? 'selectable' : 'container';

/** Roles declared by the server take precedence over roles derived from names, as in `recordFolders`. */
const pathOfRole = (listing: readonly FolderListing[], role: FolderRole): string =>
  (['extension', 'name'] as const)
    .map((source) => listing.find((folder) => folder.role === role && folder.roleSource === source))
    .find((folder) => folder !== undefined)?.path ?? '';

const numbered = (
  folders: readonly FolderEntry[],
  listing: readonly FolderListing[],
): readonly FolderEntry[] => {
  const known = new Map(folders.map((folder) => [folder.path, folder]));
  return listing.flatMap(({ path }) => known.get(path) ?? []);
};

function pathsOf(known: readonly FolderEntry[], listing: readonly FolderListing[]): KnownPaths {
  const paths = new Map(known.map(({ number, path }) => [number, path]));
  const nested = listing.find(({ parentPath }) => parentPath !== null);
  const delimiter = nested?.path.slice(
    nested.parentPath?.length ?? 0,
    nested.path.length - nested.name.length,
  );
  return {
    of: (number) => paths.get(number),
    delimiter: delimiter === undefined || delimiter === '' ? '/' : delimiter,
  };
}

/** HMAC of mailbox and path: identifies the same path without opening the sealed one. */
const folderKey = (ports: Pick<Ports, 'ids'>, mailboxId: string, path: string): string =>
  ports.ids.reservationName(`${mailboxId}\u0000${path}`);

/** Paths that this mailbox's stream does not contain yet, sealed under the mailbox's key; usually none. */
async function sealUnknown(
  ports: Pick<Ports, 'personal'>,
  mailboxId: string,
  state: MailboxRecord,
  listed: readonly { readonly path: string; readonly pathKey: string }[],
): Promise<ReadonlyMap<string, Sealed>> {
  const known = new Set([...state.folders.values()].map(({ pathKey }) => pathKey));
  const sealed = new Map<string, Sealed>();
  for (const { path, pathKey } of listed) {
    if (!known.has(pathKey)) sealed.set(pathKey, await ports.personal.seal(mailboxId, path));
  }
  return sealed;
}

function sealedOr(sealed: ReadonlyMap<string, Sealed>, pathKey: string): Sealed {
  const path = sealed.get(pathKey);
  if (path !== undefined) return path;
  throw new GatewayError('overloaded', 'The folders of this mailbox changed meanwhile; try again.');
}
