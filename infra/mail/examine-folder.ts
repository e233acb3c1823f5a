/** What a reconciler reads: the messages that exist now, and those that arrived. */
import { GatewayError } from '../../commands/values/errors.ts';
import type { Sighting } from '../../commands/ports/mail-port.ts';
import type { FolderRef } from '../../commands/mail/message.ts';
import type { ActionTarget } from './act-on-folder.ts';
import { askStatus } from './ask-status.ts';
import { fetchMessages } from './fetch-messages.ts';
import type { ImapConnection } from './imap-connection.ts';
import { assertThere, openIfThere, openListed, settleDoubt } from './open-folder.ts';
import { searchUids } from './search-uids.ts';
import type { FolderCounts } from '../mail-index/folder-freshness.ts';

const NOTHING: Sighting = { presentUids: new Set(), flagsByUid: new Map() };

/**
 * The messages that still exist, marked `\Deleted` or not. Finds nothing under another UIDVALIDITY, or in a folder that the
 * last list did not name. Throws `FolderGone` when the folder disappeared since: it may have been renamed with all its
 * messages.
 */
export async function examineMessages(
  connection: ImapConnection,
  { folder, uidValidity, uids }: ActionTarget,
): Promise<Sighting> {
  const open = await openListed(connection, folder, 'read');
  if (open?.uidValidity !== uidValidity || uids.length === 0) return NOTHING;
  const found = await fetchMessages(connection, uids, { flags: true });
  return {
    presentUids: new Set(found.map(({ uid }) => uid)),
    flagsByUid: new Map(found.map(({ uid, flags }) => [uid, [...(flags ?? [])]])),
  };
}

/**
 * UIDVALIDITY and UIDNEXT now; where the server does not report UIDNEXT, the lowest UID that a new message may get. Throws
 * `not_found` when the folder is gone, `provider_rejected` when the server shows none of the messages it counts.
 */
export async function folderStatus(
  connection: ImapConnection,
  folder: FolderRef,
): Promise<{ readonly uidValidity: number; readonly uidNext: number }> {
  const status = await connection.status(folder.path);
  if (status !== null) return status;
  const open = await openIfThere(connection, folder.path, 'read');
  assertThere(open);
  if (open.uidNext !== null) return { uidValidity: open.uidValidity, uidNext: open.uidNext };
  const { uidValidity } = open;
  // UIDNEXT is optional on SELECT, and unknown when messages arrived since.
  return { uidValidity, uidNext: open.exists === 0 ? 1 : (await lastUid(connection, folder)) + 1 };
}

/**
 * The highest UID of the open folder, which is not empty. Not by SEARCH: `UID *` finds nothing on Courier. If the last
 * message disappears meanwhile, STATUS, which is not meant for an open folder, reports how far its UIDs have come.
 */
async function lastUid(connection: ImapConnection, { path }: FolderRef): Promise<number> {
  const last = await connection.run((client) => client.fetchOne('*', { uid: true }));
  if (last !== false) return last.uid;
  const status = await connection.run((client) => askStatus(client, path, { uidNext: true }));
  if (status !== false && status.uidNext) return status.uidNext - 1;
  throw new GatewayError('provider_rejected', 'The mail server does not show the messages it counts.', {
    details: { reason: 'refused' },
  });
}

/**
 * UIDs from `fromUid` on with exactly this Message-ID. The header search of IMAP also finds substrings. Throws `FolderGone`
 * as `examineMessages` does.
 */
export async function findByMessageId(
  connection: ImapConnection,
  folder: FolderRef,
  messageId: string,
  fromUid: number,
): Promise<readonly number[]> {
  const open = await openListed(connection, folder, 'read');
  if (open === null || open.exists === 0) return [];
  const wanted = messageId.trim();
  const search = { header: { 'Message-ID': wanted }, uid: `${String(fromUid)}:*` };
  const found = await searchUids(connection, search);
  // `n:*` always includes the last message, even below n.
  const candidates = found.filter((uid) => uid >= fromUid);
  if (candidates.length === 0) return [];
  const fetched = await fetchMessages(connection, candidates, { envelope: true });
  return fetched
    .filter(({ envelope }) => envelope?.messageId?.trim() === wanted)
    .map(({ uid }) => uid)
    .sort((a, b) => a - b);
}

/**
 * STATUS (RFC 3501 6.3.10): enough to tell whether a mirror is still true. Null when the folder is gone, or the server does
 * not report it.
 */
export async function folderCounts(
  connection: ImapConnection,
  { path }: FolderRef,
): Promise<FolderCounts | null> {
  const highestModseq = connection.capabilities.condstore;
  if (connection.openPath === path) await settleDoubt(connection);
  const status = await connection.run(async (client) => {
    // For the open folder it reports what this connection has seen, which a NOOP brings up to date.
    if (client.mailbox !== false && client.mailbox.path === path) await client.noop();
    const query = { uidValidity: true, uidNext: true, messages: true, highestModseq };
    return await askStatus(client, path, query);
  });
  if (status === false || !status.uidValidity || !status.uidNext || status.messages === undefined)
    return null;
  return {
    uidValidity: Number(status.uidValidity),
    uidNext: status.uidNext,
    messages: status.messages,
    highestModseq: status.highestModseq ?? null,
  };
}
