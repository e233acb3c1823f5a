/** Moves messages between the mirrors of two folders, as the mail server reported them moved: their rows stay as they are. */
import type { Sql } from '../../commands/ports/ports.ts';
import { type Fence, FencedOff, type MovedMessages } from './folder-mirror.ts';

/**
 * Folders are locked in the order in which an operation locks them. A message gets the next UID of its new folder, so its key
 * is free.
 */
const MOVE = {
  name: 'mirror_move',
  text: `
    with held as materialized (select from work.mailbox_lease where mailbox_id = $1 and fence = $2 for share),
    locked as materialized (
      select f.folder_number from mirror.folder as f, held
      where f.mailbox_number = $3 and f.folder_number = any($8::int[]) order by f.folder_number for update of f
    ),
    moved as materialized (
      select m.* from held, unnest($4::int[], $5::bigint[], $6::int[], $7::bigint[])
        as m (from_folder, from_uid, to_folder, to_uid)
    ),
    arrived as (
      update mirror.message as known set folder_number = to_folder, uid = to_uid from moved
      where mailbox_number = $3 and known.folder_number = from_folder and known.uid = from_uid and to_folder is not null
    ),
    arrived_texts as (
      update mirror.message_text as known set folder_number = to_folder, uid = to_uid from moved
      where mailbox_number = $3 and known.folder_number = from_folder and known.uid = from_uid and to_folder is not null
    ),
    gone as (
      delete from mirror.message as known using moved
      where mailbox_number = $3 and known.folder_number = from_folder and known.uid = from_uid and to_folder is null
    ),
    gone_texts as (
      delete from mirror.message_text as known using moved
      where mailbox_number = $3 and known.folder_number = from_folder and known.uid = from_uid and to_folder is null
    ),
    changed as (
      update mirror.folder as f set uid_next = now.uid_next, total = now.total, indexed = f.indexed + now.grown,
        trusted = now.trusted, feed_position = coalesce($13, f.feed_position), version = nextval('mirror.folder_version')
      from locked join unnest($8::int[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[])
        as now (folder_number, uid_next, total, grown, trusted) using (folder_number)
      where f.mailbox_number = $3 and f.folder_number = locked.folder_number
    ),
    dropped as (delete from work.mail_echo using held where id = any($14::bigint[]))
    select true as is_held from held`,
};

/** All in one statement. Throws `FencedOff` when a later worker holds the mailbox; then nothing is changed. */
export async function moveMessages(
  sql: Sql,
  mailboxId: string,
  fence: Fence,
  { mailboxNumber, moves, folders, feedPosition, echoes }: MovedMessages,
): Promise<void> {
  const held = await sql.query(MOVE, [
    mailboxId,
    fence,
    mailboxNumber,
    moves.map(({ from }) => from),
    moves.map(({ uid }) => uid),
    moves.map(({ to }) => to),
    moves.map(({ newUid }) => newUid),
    folders.map(({ folderNumber }) => folderNumber),
    folders.map(({ uidNext }) => uidNext),
    folders.map(({ total }) => total),
    folders.map(({ grown }) => grown),
    folders.map(({ invalidations }) => invalidations),
    feedPosition,
    echoes,
  ]);
  if (held.length === 0) throw new FencedOff(mailboxId);
}
