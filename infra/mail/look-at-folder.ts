/** What a reconciler looks at: what is there now, and what arrived. */
import type { FolderRef, Sighting } from '../../commands/kernel/mail-port.ts';
import type { ActionTarget } from './act-on-folder.ts';
import type { ImapConnection } from './imap-connection.ts';
import { assertThere, openIfThere } from './open-folder.ts';
import { searchUids } from './search-uids.ts';
import { uidSet } from './uid-set.ts';

const NOTHING: Sighting = { presentUids: new Set(), flagsByUid: new Map() };

/** The messages still there, marked `\Deleted` or not. Another UIDVALIDITY, or no folder, sees nothing. */
export async function lookAt(
  connection: ImapConnection,
  { folder, uidValidity, uids }: ActionTarget,
): Promise<Sighting> {
  const open = await openIfThere(connection, folder.path, 'read');
  if (open?.uidValidity !== uidValidity || uids.length === 0) return NOTHING;
  const asked = new Set(uids);
  const query = { uid: true, flags: true };
  const fetched = await connection.run((client) => client.fetchAll(uidSet(uids), query, { uid: true }));
  const found = fetched.filter(({ uid }) => asked.has(uid));
  return {
    presentUids: new Set(found.map(({ uid }) => uid)),
    flagsByUid: new Map(found.map(({ uid, flags }) => [uid, [...(flags ?? [])]])),
  };
}

/** UIDVALIDITY and UIDNEXT now. Throws `not_found` when the folder is gone. */
export async function folderStatus(
  connection: ImapConnection,
  folder: FolderRef,
): Promise<{ readonly uidValidity: number; readonly uidNext: number }> {
  const told = await connection.status(folder.path);
  if (told !== null) return told;
  const open = await openIfThere(connection, folder.path, 'read');
  assertThere(open);
  if (open.uidNext !== null) return { uidValidity: open.uidValidity, uidNext: open.uidNext };
  // UIDNEXT is optional on SELECT, and unknown when messages arrived since.
  const last = open.exists === 0 ? [] : await searchUids(connection, { uid: '*' });
  return { uidValidity: open.uidValidity, uidNext: Math.max(0, ...last) + 1 };
}

/** UIDs from `fromUid` on whose Message-ID is exactly this one. The header search of IMAP finds parts of it too. */
export async function findByMessageId(
  connection: ImapConnection,
  folder: FolderRef,
  messageId: string,
  fromUid: number,
): Promise<readonly number[]> {
  const open = await openIfThere(connection, folder.path, 'read');
  if (open === null || open.exists === 0) return [];
  const wanted = messageId.trim();
  const search = { header: { 'Message-ID': wanted }, uid: `${String(fromUid)}:*` };
  const found = await searchUids(connection, search);
  // `n:*` always names the last message, also one below n.
  const candidates = found.filter((uid) => uid >= fromUid);
  if (candidates.length === 0) return [];
  const query = { uid: true, envelope: true };
  const fetched = await connection.run((client) => client.fetchAll(uidSet(candidates), query, { uid: true }));
  return fetched
    .filter(({ envelope }) => envelope?.messageId?.trim() === wanted)
    .map(({ uid }) => uid)
    .sort((a, b) => a - b);
}
