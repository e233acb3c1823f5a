/** Known correspondents of a mailbox: addresses that wrote to it in any folder, or that mail in Sent went to. */
import { addressKey } from '../../commands/drafts/mail-address.ts';
import { foldText } from '../../commands/mail/fold-text.ts';
import type { WholeMailAndSent } from '../../commands/ports/mirror-versions.ts';
import { SORTED_CHARS } from '../../commands/mail/query.ts';
import type { Sql } from '../../commands/ports/ports.ts';
import { likePattern } from './filter-sql.ts';
import { areComplete } from './first-contacts.ts';
import { ELEMENT, peopleInEnvelope } from './message-row.ts';
import { SENDER } from './walk-sql.ts';

/** Folding maps different addresses to one text, so several candidates are read before an address counts as unknown. */
const MOST_LOOKED_AT = 20;

const IS_COMPLETE = `select ${areComplete('$2::int[]')} as complete`;

const CANDIDATES = `
  select asked.at::int, found.envelope
  from unnest($3::text[], $4::text[]) with ordinality as asked (sender, pattern, at) cross join lateral (
    (select t.envelope from unnest($2::int[]) as folder (number) cross join lateral (
       select t.envelope from mirror.message_text t
       where t.mailbox_number = $1 and t.folder_number = folder.number and ${SENDER} = asked.sender
       limit ${String(MOST_LOOKED_AT)}) t limit ${String(MOST_LOOKED_AT)})
    union all
    (select t.envelope from mirror.message_text t
     where t.mailbox_number = $1 and t.folder_number = $5 and t.words like asked.pattern
     limit ${String(MOST_LOOKED_AT)})) as found`;

/**
 * Those of the addresses that wrote to the mailbox, or received a message of its Sent folder; null while the mirror of one
 * of its folders is not complete. Throws `store_unavailable`.
 */
export async function knownCorrespondents(
  sql: Sql,
  { mailboxNumber, folderNumbers, sentNumber }: WholeMailAndSent,
  addresses: readonly string[],
): Promise<ReadonlySet<string> | null> {
  const [row] = await sql.query<{ complete: boolean }>(IS_COMPLETE, [mailboxNumber, folderNumbers]);
  if (row?.complete !== true) return null;
  if (addresses.length === 0) return new Set();
  const rows = await sql.query<{ at: number; envelope: string }>(CANDIDATES, [
    mailboxNumber,
    folderNumbers,
    addresses.map((address) => Array.from(foldText(address)).slice(0, SORTED_CHARS).join('')),
    addresses.map((address) => likePattern(ELEMENT + foldText(address))),
    sentNumber,
  ]);
  return new Set(
    rows.flatMap(({ at, envelope }) => {
      const address = addresses[at - 1];
      return address !== undefined && names(envelope, addressKey(address)) ? [address] : [];
    }),
  );
}

function names(envelope: string, key: string): boolean {
  const { from, to, cc, bcc } = peopleInEnvelope(envelope);
  return [...from, ...to, ...cc, ...bcc].some(({ email }) => addressKey(email) === key);
}
