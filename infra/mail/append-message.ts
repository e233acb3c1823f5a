/** Puts a message into a folder (APPEND). */
import type { FolderRef } from '../../commands/mail/message.ts';
import type { ImapConnection } from './imap-connection.ts';

/** 25 MiB over a slow line take longer than a command may; at 1 Mbit/s this is enough for them. */
const APPEND_TIMEOUT_MS = 240_000;

/**
 * Where it lies now; null when the server does not tell (no UIDPLUS, RFC 4315). A folder that is open for reading is opened for
 * changes before: some servers (Courier) take no message into one that is open by EXAMINE. Throws like `ImapConnection.write`.
 */
export async function appendMessage(
  connection: ImapConnection,
  folder: FolderRef,
  raw: Uint8Array,
  { flags, at }: { readonly flags: readonly string[]; readonly at: Date },
): Promise<{ readonly uidValidity: number; readonly uid: number } | null> {
  if (connection.isOpenForReading(folder.path)) await connection.open(folder.path, 'write');
  const appended = await connection.write(
    (client) => client.append(folder.path, raw, [...flags], at),
    APPEND_TIMEOUT_MS,
  );
  if (!appended || appended.uid === undefined || appended.uidValidity === undefined) return null;
  return { uidValidity: Number(appended.uidValidity), uid: appended.uid };
}
