/** Opening folders that may be gone from the server since the directory learned of them. */
import { GatewayError } from '../../commands/values/errors.ts';
import type { FolderRef } from '../../commands/mail/message.ts';
import type { ImapConnection, OpenFolder, OpenMode } from './imap-connection.ts';
import { refusalCode } from './mail-errors.ts';
import { isRefusedSearch } from './search-uids.ts';

/** The folder, open; null when it is no longer on the server. Throws like `ImapConnection.open` for all else. */
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

/** The folder is not where the last list had it: renamed or removed since. The next list, which follows at once, tells which. */
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
 * The folder, open, for who would otherwise take what is not known for nothing. Null when the last list knew already that it is
 * gone. Throws `FolderGone`, and as `openIfThere`.
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

/** What a refused command means: some servers (Cyrus) refuse all in a folder that was renamed or removed while it was open. */
export async function refusalIn(connection: ImapConnection, error: unknown): Promise<unknown> {
  const path = connection.openPath;
  const isRefused =
    error instanceof GatewayError && (error.code === 'provider_rejected' || isRefusedSearch(error));
  if (!isRefused || path === null || !connection.isUsable || (await isListed(connection, path))) return error;
  connection.doubtFolder();
  return new FolderGone(path, error);
}

/** A server that refuses without saying why (RFC 5530 codes are optional) is asked whether the folder exists. */
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
