/** The folders of a mailbox with their roles and counts. */
import type { ListResponse, StatusQuery } from 'imapflow';
import type { FolderListing } from '../../commands/ports/mail-port.ts';
import type { FolderRole } from '../../commands/values/folder-roles.ts';
import { askStatus } from './ask-status.ts';
import type { ImapConnection } from './imap-connection.ts';
import { settleDoubt } from './open-folder.ts';

/** RFC 6154 and RFC 8457 attributes; imapflow uses the same values for folders it recognises by name. */
const ROLE_OF: Readonly<Record<string, FolderRole>> = {
  '\\inbox': 'inbox',
  '\\drafts': 'drafts',
  '\\sent': 'sent',
  '\\trash': 'trash',
  '\\junk': 'junk',
  '\\archive': 'archive',
  '\\flagged': 'flagged',
  '\\important': 'important',
  '\\all': 'all_mail',
};

/** Every existing folder, INBOX first. Counts come with the list where the server offers LIST-STATUS. */
export async function listFolders(connection: ImapConnection): Promise<readonly FolderListing[]> {
  const query = { messages: true, unseen: true, uidValidity: true };
  return listingsOf(await listWith(connection, query, staying));
}

/** UIDVALIDITY and counts of a folder that can hold messages. */
export interface FolderStatus {
  readonly path: string;
  readonly uidValidity: number;
  readonly uidNext: number;
  readonly messages: number;
  /** Null where the server has no CONDSTORE (RFC 7162). */
  readonly highestModseq: bigint | null;
}

/** Called between two commands of a list; returns the connection to continue with. An error thrown by it ends the list. */
export type Between = (connection: ImapConnection) => Promise<ImapConnection>;

const staying: Between = (connection) => Promise.resolve(connection);

/** As `listFolders`, with the numbers that show a change without opening the folder. */
export async function listStatuses(
  connection: ImapConnection,
  between: Between = staying,
): Promise<{ readonly listing: readonly FolderListing[]; readonly statuses: readonly FolderStatus[] }> {
  const query = { messages: true, unseen: true, uidValidity: true, uidNext: true, highestModseq: true };
  const listed = await listWith(connection, query, between);
  const statuses = listed.flatMap(({ path, status }): FolderStatus[] => {
    if (!status?.uidValidity || !status.uidNext) return [];
    const { uidNext, messages = 0, highestModseq = null } = status;
    return [{ path, uidNext, messages, highestModseq, uidValidity: Number(status.uidValidity) }];
  });
  return { listing: listingsOf(listed), statuses };
}

/** Without LIST-STATUS (RFC 5819) each folder needs a command, each with its own timeout. */
async function listWith(
  connection: ImapConnection,
  statusQuery: StatusQuery,
  between: Between,
): Promise<readonly ListResponse[]> {
  await settleDoubt(connection);
  const tellsStatus = connection.capabilities.names.includes('LIST-STATUS');
  if (tellsStatus) return await connection.run((client) => client.list({ statusQuery }));
  const listed = await connection.run((client) => client.list());
  let current = connection;
  // INBOX is listed first and its status is read last: it may be polled meanwhile, and must be compared with counts as new.
  for (const folder of listed.filter(({ flags }) => !hasFlag(flags, '\\noselect')).toReversed()) {
    current = await between(current);
    const status = await current.run((client) => askStatus(client, folder.path, statusQuery));
    if (status !== false) folder.status = status;
  }
  return listed;
}

function listingsOf(listed: readonly ListResponse[]): readonly FolderListing[] {
  const taken = new Set<FolderRole>();
  return listed
    .filter(({ flags }) => !hasFlag(flags, '\\nonexistent'))
    .map((folder) => listingOf(folder, taken));
}

function listingOf(folder: ListResponse, taken: Set<FolderRole>): FolderListing {
  const { path, name, parentPath, status } = folder;
  const selectable = !hasFlag(folder.flags, '\\noselect');
  const role = roleOf(folder, selectable);
  // A role belongs to one folder; imapflow puts the best candidate first.
  const isFirst = role !== null && !taken.has(role);
  if (isFirst) taken.add(role);
  return {
    path,
    name,
    parentPath: parentPath === '' ? null : parentPath,
    selectable,
    role: isFirst ? role : null,
    roleSource: isFirst ? sourceOf(folder) : null,
    ...countsOf(status),
  };
}

const sourceOf = ({ specialUseSource }: ListResponse): FolderListing['roleSource'] =>
  specialUseSource === 'extension' ? 'extension' : 'name';

/** A folder that may not be opened has no counts. */
function countsOf(status: ListResponse['status']): Pick<FolderListing, 'total' | 'unseen' | 'uidValidity'> {
  const uidValidity = status?.uidValidity;
  return {
    total: status?.messages ?? null,
    unseen: status?.unseen ?? null,
    uidValidity: uidValidity === undefined ? null : Number(uidValidity),
  };
}

function roleOf({ path, flags, specialUse }: ListResponse, selectable: boolean): FolderRole | null {
  if (path.toUpperCase() === 'INBOX') return 'inbox';
  if (!selectable) return null;
  const known = specialUse === undefined ? undefined : ROLE_OF[specialUse.toLowerCase()];
  return known ?? (hasFlag(flags, '\\important') ? 'important' : null);
}

const hasFlag = (flags: ReadonlySet<string>, flag: string): boolean =>
  [...flags].some((own) => own.toLowerCase() === flag);
