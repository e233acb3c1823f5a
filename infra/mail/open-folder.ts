/** Opens folders that may have disappeared from the server since the directory learned of them. */
import { GatewayError } from '../../commands/values/errors.ts';
import type { FolderRef } from '../../commands/mail/message.ts';
import type { ImapConnection, OpenFolder, OpenMode } from './imap-connection.ts';
import { refusalCode } from './mail-errors.ts';
import { isRefusedSearch } from './search-uids.ts';

/** Opens the folder; null when it is no longer on the server. Throws like `ImapConnection.open` for any other error. */
export async function openIfThere(
  connection: ImapConnection,
  path: string,
  mode: OpenMode,
): Promise<OpenFolder | null> {
  try {
    return await connection.open(path, mode);
  } catch (error) {
    if (await isGone(connection, path, error)) return null;
    throw error;
  }
}

/** The folder is not where the last list had it: renamed or removed since. The next list, which follows at once, shows which. */
export class FolderGone extends GatewayError {
  readonly path: string;

  constructor(path: string, cause?: unknown) {
    const message =
      'The folder is no longer where it was on the mail server; its folders are being listed again, try again.';
    super('mailbox_unavailable', message, {
      details: { reason: 'folder_gone' },
      retryAfterSeconds: RETRY_SECONDS,
      cause,
    });
    this.name = 'FolderGone';
    this.path = path;
  }
}

const RETRY_SECONDS = 2;

/**
 * Opens the folder for callers that must not mistake an unknown folder for an empty one. Null when the last list already
 * had it as gone. Throws `FolderGone`, and as `openIfThere`.
 */
export async function openListed(
  connection: ImapConnection,
  folder: FolderRef,
  mode: OpenMode,
): Promise<OpenFolder | null> {
  if (folder.isMissing === true) return null;
  const open = await openIfThere(connection, folder.path, mode);
  if (open === null) throw new FolderGone(folder.path);
  return open;
}

/** The folder as it was last seen where it is still open, else opened. Throws `FolderGone`, and as `openIfThere`. */
export async function reopenListed(connection: ImapConnection, folder: FolderRef): Promise<OpenFolder> {
  try {
    return await connection.reopen(folder.path);
  } catch (error) {
    if (await isGone(connection, folder.path, error)) throw new FolderGone(folder.path, error);
    throw error;
  }
}

/**
 * Opens the open folder again if it is in doubt: its STATUS is that of the folder which this connection has open. No
 * folder is open when the server refuses, and STATUS then says what is at the path. Throws like `run` for any other error.
 */
export async function settleDoubt(connection: ImapConnection): Promise<void> {
  const path = connection.openPath;
  if (path === null || !connection.isInDoubt) return;
  try {
    await connection.open(path, 'read');
  } catch (error) {
    if (!(error instanceof GatewayError) || error.code !== 'provider_rejected') throw error;
  }
}

/** What a refused command means: some servers (Cyrus) refuse every command in a folder that was renamed or removed while open. */
export async function refusalIn(connection: ImapConnection, error: unknown): Promise<unknown> {
  const path = connection.openPath;
  const isRefused =
    error instanceof GatewayError && (error.code === 'provider_rejected' || isRefusedSearch(error));
  if (!isRefused || path === null || !connection.isUsable || (await isListed(connection, path))) return error;
  connection.doubtFolder();
  return new FolderGone(path, error);
}

/** Asks a server that refuses without a reason (RFC 5530 codes are optional) whether the folder exists. */
async function isGone(connection: ImapConnection, path: string, error: unknown): Promise<boolean> {
  if (!(error instanceof GatewayError) || error.code !== 'provider_rejected') return false;
  const code = refusalCode(error.cause);
  if (code === 'NONEXISTENT' || code === 'TRYCREATE') return true;
  return !(await isListed(connection, path));
}

async function isListed(connection: ImapConnection, path: string): Promise<boolean> {
  const listed = await connection.run((client) => client.list());
  return listed.some((folder) => folder.path === path && !folder.flags.has('\\NonExistent'));
}

/** Throws `not_found` for a folder that is gone. */
export function assertThere(folder: OpenFolder | null): asserts folder is OpenFolder {
  if (folder !== null) return;
  throw new GatewayError('not_found', 'The folder is no longer on the mail server; list the folders again.');
}
