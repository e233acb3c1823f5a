/** The other folders of a folder's messages, according to the mirrors: for a server that shows one message in several folders. */
import type { Sql } from '../../commands/ports/ports.ts';
import type { FolderKey, MirroredMessage } from './folder-mirror.ts';
import { providerColumn } from './message-row.ts';

/**
 * `$3`, `$4`: messages that are not in the mirror yet, by UID and provider's id. Such a message may have left a folder
 * before the next was polled, or have left this one, whose mirror still has it under its earlier UID: it is not new.
 */
const BESIDE = `
  with added as (select * from unnest($3::bigint[], $4::bigint[]) as added (uid, provider_id)),
  asked as (
    select uid, provider_id from mirror.message
    where mailbox_number = $1 and folder_number = $2 and uid = any($5::bigint[]) and provider_id is not null
    union select * from added),
  beside as (
    select asked.uid, other.folder_number
    from asked join mirror.message other on other.mailbox_number = $1 and other.provider_id = asked.provider_id
      and other.folder_number <> $2),
  before as (
    select added.uid, earlier.folder_number from added cross join lateral (
      select folder_number from mirror.departed_message
      where mailbox_number = $1 and provider_id = added.provider_id
      union all select folder_number from mirror.message
      where mailbox_number = $1 and folder_number = $2 and provider_id = added.provider_id) as earlier
    where not exists (select from beside where beside.uid = added.uid))
  select uid, array_agg(distinct folder_number order by folder_number) as folders
  from (select * from beside union all select * from before) as known group by uid`;

/** No entry for a message that is in no other folder. Throws `store_unavailable`. */
export async function foldersBeside(
  sql: Sql,
  { mailboxNumber, folderNumber }: FolderKey,
  uids: readonly number[],
  added: readonly MirroredMessage[],
): Promise<ReadonlyMap<number, readonly number[]>> {
  const shared = added.flatMap(({ ref, providerId }) =>
    providerId === undefined ? [] : [{ uid: ref.uid, id: providerColumn(providerId) }],
  );
  const rows = await sql.query<{ uid: string; folders: readonly number[] }>(BESIDE, [
    mailboxNumber,
    folderNumber,
    shared.map(({ uid }) => uid),
    shared.map(({ id }) => id),
    uids,
  ]);
  return new Map(rows.map(({ uid, folders }) => [Number(uid), folders]));
}
