/** Moves messages between the mirrors of two folders, as the mail server reported them moved: their rows stay as they are. */
import type { Sql } from '../../commands/ports/ports.ts';
import { type Fence, FencedOff, type MovedMessages } from './folder-mirror.ts';

const COLUMNS = `received_at, sent_at, size, thread_key, message_key, seen, flagged, answered, draft, deleted,
  has_attachment, keywords, provider_id`;

/** Folders are locked in the order in which an operation locks them. */
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
    gone as (
      delete from mirror.message as old using moved
      where old.mailbox_number = $3 and old.folder_number = from_folder and old.uid = from_uid
      returning old.*, to_folder, to_uid
    ),
    arrived as (
      insert into mirror.message (mailbox_number, folder_number, uid, ${COLUMNS})
      select mailbox_number, to_folder, to_uid, ${COLUMNS} from gone where to_folder is not null
    ),
    gone_texts as (
      delete from mirror.message_text as old using moved
      where old.mailbox_number = $3 and old.folder_number = from_folder and old.uid = from_uid
      returning old.words, old.envelope, to_folder, to_uid
    ),
    arrived_texts as (
      insert into mirror.message_text (mailbox_number, folder_number, uid, words, envelope)
      select $3, to_folder, to_uid, words, envelope from gone_texts where to_folder is not null
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
