/** Opening folders that may be gone from the server since the directory learned of them. */
import { GatewayError } from '../../commands/kernel/errors.ts';
import type { ImapConnection, OpenFolder, OpenMode } from './imap-connection.ts';
import { refusalCode } from './mail-errors.ts';

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

/** A server that refuses without saying why (RFC 5530 codes are optional) is asked whether the folder exists. */
async function isGone(connection: ImapConnection, path: string, error: unknown): Promise<boolean> {
  if (!(error instanceof GatewayError) || error.code !== 'provider_rejected') return false;
  const code = refusalCode(error.cause);
  if (code === 'NONEXISTENT' || code === 'TRYCREATE') return true;
  const listed = await connection.run((client) => client.list());
  return !listed.some((folder) => folder.path === path && !folder.flags.has('\\NonExistent'));
}

/** Throws `not_found` for a folder that is gone. */
export function assertThere(folder: OpenFolder | null): asserts folder is OpenFolder {
  if (folder !== null) return;
  throw new GatewayError('not_found', 'The folder is no longer on the mail server; list the folders again.');
}
