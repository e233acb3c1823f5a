/** Raw bytes of messages and parts, a piece at a time. */
import type { MessageRef, PartDescription } from '../../commands/mail/message.ts';
import { partOf } from './body-structure.ts';
import { isDeleted } from './fetched-message.ts';
import type { ImapConnection } from './imap-connection.ts';
import { openListed } from './open-folder.ts';

/** A leaf by its ordinal; null where the message is gone or marked `\Deleted`, or has no such leaf. Throws like `run`. */
export async function describePart(
  connection: ImapConnection,
  { folder, uidValidity, uid }: MessageRef,
  part: number,
): Promise<PartDescription | null> {
  const open = await openListed(connection, folder, 'read');
  if (open?.uidValidity !== uidValidity) return null;
  const query = { uid: true, flags: true, bodyStructure: true };
  const fetched = await connection.run((client) => client.fetchAll(String(uid), query, { uid: true }));
  const message = fetched.find((each) => each.uid === uid && !isDeleted(each));
  return message?.bodyStructure ? partOf(message.bodyStructure, part) : null;
}

/**
 * At most `length` bytes from `offset` of a part (`path`) or the whole message (null), by BODY.PEEK. Null where the message
 * is gone. Throws like `run`.
 */
export async function readBytes(
  connection: ImapConnection,
  { folder, uidValidity, uid }: MessageRef,
  path: string | null,
  { offset, length }: { readonly offset: number; readonly length: number },
): Promise<Uint8Array | null> {
  // After the first piece the folder is known to be there, and a UID that is gone meanwhile says so itself.
  const open =
    offset > 0 ? await connection.reopen(folder.path) : await openListed(connection, folder, 'read');
  if (open?.uidValidity !== uidValidity) return null;
  const range = { start: offset, maxLength: length };
  const query = path === null ? { source: range } : { bodyParts: [{ key: path, ...range }] };
  const fetched = await connection.run((client) =>
    client.fetchAll(String(uid), { uid: true, ...query }, { uid: true }),
  );
  const message = fetched.find((each) => each.uid === uid);
  if (message === undefined) return null;
  const bytes = path === null ? message.source : message.bodyParts?.get(path.toLowerCase());
  return bytes ?? new Uint8Array();
}
