/** What the server says of a folder without opening it: enough to tell whether a copy of it is still true. */
import type { FolderRef } from '../../commands/mail/message.ts';
import { askStatus } from './ask-status.ts';
import type { ImapConnection } from './imap-connection.ts';
import type { FolderCounts } from '../mail-index/folder-freshness.ts';

/** STATUS (RFC 3501 6.3.10). Null when the folder is gone, or the server does not tell. */
export async function folderCounts(
  connection: ImapConnection,
  { path }: FolderRef,
): Promise<FolderCounts | null> {
  const highestModseq = connection.capabilities.condstore;
  const told = await connection.run(async (client) => {
    // Of the open folder it tells what this connection has seen, which a NOOP brings up to date.
    if (client.mailbox !== false && client.mailbox.path === path) await client.noop();
    const query = { uidValidity: true, uidNext: true, messages: true, highestModseq };
    return await askStatus(client, path, query);
  });
  if (told === false || !told.uidValidity || !told.uidNext || told.messages === undefined) return null;
  return {
    uidValidity: Number(told.uidValidity),
    uidNext: told.uidNext,
    messages: told.messages,
    highestModseq: told.highestModseq ?? null,
  };
}
