/** First contacts: messages that are the first of their sender in a mailbox (`contract.md` 4, `first_contact`). */
import type { FetchedMessage } from '../../commands/mail/message.ts';
import { type FirstContacts, keysetOf } from '../../commands/mail/query.ts';
import type { Sql } from '../../commands/ports/ports.ts';
import { SAME_MESSAGE, SENDER } from './walk-sql.ts';

/** Whether the mirrors of these folders of the mailbox `$1` are complete. */
export const areComplete = (folders: string): string => `
  (select count(*) = cardinality(${folders}) from mirror.folder
   where mailbox_number = $1 and folder_number = any(${folders}) and indexed_from = 1)`;

/** Whether a message of these folders is of the sender in `asked`, and earlier. */
const hasEarlier = (folders: string): string => `
  exists (
    select from unnest(${folders}) as folder (number) cross join lateral (
      select from mirror.message_text t join mirror.message m on ${SAME_MESSAGE}
      where t.mailbox_number = $1 and t.folder_number = folder.number and ${SENDER} = asked.sender
        and m.received_at < asked.received_at limit 1) as earlier)`;

/** A column for a message `m` with its text `t`: whether its sender wrote before; null while the mirror of a folder is incomplete. */
export const senderIsKnown = (folders: string): string => `
  case when ${areComplete(folders)} then
    (select ${hasEarlier(folders)} from (select ${SENDER}, m.received_at) as asked (sender, received_at)) end`;

/** Returns no row while the mirror of a folder is incomplete. */
const EARLIER = {
  name: 'first_contacts',
  text: `
    select asked.at::int, ${hasEarlier('$2::int[]')} as known
    from unnest($3::text[], $4::bigint[]) with ordinality as asked (sender, received_at, at)
    where ${areComplete('$2::int[]')}`,
};

/**
 * Which messages are the first of their sender in these folders; null while the index is not complete. A message without a
 * sender is in no answer. Throws `store_unavailable`.
 */
export async function firstContacts(
  sql: Sql,
  {
    mailboxNumber,
    folderNumbers,
  }: { readonly mailboxNumber: number; readonly folderNumbers: readonly number[] },
  messages: readonly FetchedMessage[],
): Promise<FirstContacts | null> {
  const asked = messages.filter(({ from }) => from.length > 0);
  if (asked.length === 0) return new Map();
  const rows = await sql.query<{ at: number; known: boolean }>(EARLIER, [
    mailboxNumber,
    folderNumbers,
    asked.map((message) => keysetOf(message, 'from_asc').value),
    asked.map(({ receivedAt }) => receivedAt.getTime()),
  ]);
  if (rows.length === 0) return null;
  return new Map(
    rows.flatMap(({ at, known }) => {
      const message = asked[at - 1];
      return message === undefined ? [] : [[message, !known] as const];
    }),
  );
}
