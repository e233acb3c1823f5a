/** Whether anything came from a sender before a message did (`contract.md` 4, `first_contact`). */
import type { FetchedMessage } from '../../commands/mail/message.ts';
import { keysetOf } from '../../commands/mail/message-order.ts';
import type { Sql } from '../../commands/ports/ports.ts';
import { SAME_MESSAGE, valueOf } from './page-ask.ts';

/** The first sender's address as the index of the order by sender has it. */
const SENDER = valueOf('from_asc');

/** No row at all while the copy of a folder is not complete. */
const EARLIER = `
  select asked.at::int, exists (
    select from unnest($2::int[]) as folder (number) cross join lateral (
      select from mirror.message_text t join mirror.message m on ${SAME_MESSAGE}
      where t.mailbox_number = $1 and t.folder_number = folder.number and ${SENDER} = asked.sender
        and m.received_at < asked.received_at limit 1) as earlier) as known
  from unnest($3::text[], $4::bigint[]) with ordinality as asked (sender, received_at, at)
  where (select count(*) = cardinality($2::int[]) from mirror.folder
    where mailbox_number = $1 and folder_number = any($2::int[]) and indexed_from = 1)`;

/**
 * Which messages are the first of their sender in these folders, which are all of the mailbox; null while the index is not
 * complete. A message without a sender is in no answer. Throws `store_unavailable`.
 */
export async function firstContacts(
  sql: Sql,
  {
    mailboxNumber,
    folderNumbers,
  }: { readonly mailboxNumber: number; readonly folderNumbers: readonly number[] },
  messages: readonly FetchedMessage[],
): Promise<ReadonlyMap<FetchedMessage, boolean> | null> {
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
