/** The number and the role of each folder. Pure. */
import { GatewayError } from '../values/errors.ts';
import { FOLDER_ROLES, type FolderRole } from '../values/folder-roles.ts';
import type { Sealed } from '../values/sealed.ts';
import { renamedFolders } from './renamed-folders.ts';
import { assertLive, type KnownFolder, type MailboxFact, type MailboxRecord } from './mailbox.ts';

/** A folder in the server's current list. */
export interface ListedFolder {
  readonly path: string;
  readonly pathKey: string;
  readonly selectable: boolean;
  readonly uidValidity: number | null;
  readonly role: FolderRole | null;
  readonly roleSource: 'extension' | 'name' | null;
}

/**
 * Facts that are not in the keys and sealed texts of events: the paths of known folders, and the delimiter of
 * their levels.
 */
export interface KnownPaths {
  readonly of: (number: number) => string | undefined;
  readonly delimiter: string;
}

/**
 * Numbers folders seen for the first time, marks folders that are gone or back, and records the roles.
 * `sealedPath` returns the sealed path of a listed folder.
 */
export function recordFolders(
  state: MailboxRecord,
  listed: readonly ListedFolder[],
  paths: KnownPaths,
  sealedPath: (pathKey: string) => Sealed,
): readonly MailboxFact[] {
  const numbers = numberFolders(state, listed, paths);
  const facts = listed.flatMap((folder) => factsOf(state, numbers, folder, sealedPath));
  const present = new Set(numbers.values());
  const gone = [...state.folders.values()].filter(
    ({ number, availability }) => availability !== 'missing' && !present.has(number),
  );
  for (const { number } of gone) {
    facts.push({ type: 'FolderAvailabilityChanged', data: { number, availability: 'missing' } });
  }
  const roles = rolesOf(listed, numbers);
  if (!sameRoles(state.detectedRoles, roles)) facts.push({ type: 'FolderRolesDetected', data: { roles } });
  return facts;
}

/** Path key → number for the listed folders: known and renamed ones keep theirs, new ones count up. */
export function numberFolders(
  state: MailboxRecord,
  listed: readonly ListedFolder[],
  paths: KnownPaths,
): ReadonlyMap<string, number> {
  const known = new Map([...state.folders.values()].map((folder) => [folder.pathKey, folder.number]));
  const renamed = renamedSince(state, listed, paths);
  let highest = Math.max(0, ...state.folders.keys());
  const numbers = new Map<string, number>();
  for (const { pathKey } of listed) {
    const number = renamed.get(pathKey) ?? known.get(pathKey);
    if (number === undefined) highest += 1;
    numbers.set(pathKey, number ?? highest);
  }
  return numbers;
}

function renamedSince(
  state: MailboxRecord,
  listed: readonly ListedFolder[],
  { of, delimiter }: KnownPaths,
): ReadonlyMap<string, number> {
  const listedKeys = new Set(listed.map(({ pathKey }) => pathKey));
  const present = [...state.folders.values()].filter(({ availability }) => availability !== 'missing');
  const gone = present.flatMap(({ number, pathKey, uidValidity }) => {
    const path = listedKeys.has(pathKey) ? undefined : of(number);
    return path === undefined ? [] : [{ number, path, uidValidity }];
  });
  if (gone.length === 0) return new Map();
  const knownKeys = new Set([...state.folders.values()].map(({ pathKey }) => pathKey));
  const fresh = listed.filter(({ pathKey }) => !knownKeys.has(pathKey));
  const kept = listed.filter(({ pathKey }) => knownKeys.has(pathKey)).map(({ path }) => path);
  return renamedFolders({ gone, fresh, kept, delimiter });
}

function factsOf(
  state: MailboxRecord,
  numbers: ReadonlyMap<string, number>,
  folder: ListedFolder,
  sealedPath: (pathKey: string) => Sealed,
): MailboxFact[] {
  const number = numbers.get(folder.pathKey) ?? 0;
  const known: KnownFolder | undefined = state.folders.get(number);
  const { pathKey, selectable, uidValidity } = folder;
  if (!known) {
    const path = sealedPath(pathKey);
    const data = { number, path, path_key: pathKey, selectable, uid_validity: uidValidity };
    return [{ type: 'FolderAdded', data }];
  }
  const facts: MailboxFact[] = [];
  if (known.pathKey !== pathKey) {
    facts.push({ type: 'FolderRenamed', data: { number, path: sealedPath(pathKey), path_key: pathKey } });
  }
  const availability = selectable ? 'selectable' : 'container';
  if (known.availability !== availability) {
    facts.push({ type: 'FolderAvailabilityChanged', data: { number, availability } });
  }
  return facts;
}

/** Roles declared by the server (RFC 6154) take precedence over roles derived from names. */
function rolesOf(
  listed: readonly ListedFolder[],
  numbers: ReadonlyMap<string, number>,
): Partial<Record<FolderRole, number>> {
  const roles: Partial<Record<FolderRole, number>> = {};
  for (const source of ['extension', 'name'] as const) {
    for (const { role, roleSource, pathKey } of listed) {
      const number = numbers.get(pathKey);
      if (role && roleSource === source && number !== undefined) roles[role] ??= number;
    }
  }
  return roles;
}

const sameRoles = (
  a: Readonly<Partial<Record<FolderRole, number | null>>>,
  b: Readonly<Partial<Record<FolderRole, number | null>>>,
): boolean => FOLDER_ROLES.every((role) => a[role] === b[role]);

/**
 * Maps roles to folders; other roles stay. Throws `not_found` for a folder that does not exist or holds no
 * messages.
 */
export function setFolderRoles(
  state: MailboxRecord,
  roles: Readonly<Partial<Record<FolderRole, number | null>>>,
): readonly MailboxFact[] {
  assertLive(state);
  for (const number of Object.values(roles)) {
    if (number !== null && state.folders.get(number)?.availability !== 'selectable') {
      throw new GatewayError('not_found', 'There is no such folder that can hold messages in this mailbox.');
    }
  }
  const folderRoles = { ...state.folderRoles, ...roles };
  return sameRoles(state.folderRoles, folderRoles) ? [] : [{ type: 'FolderRolesSet', data: { roles } }];
}
