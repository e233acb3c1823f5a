/** The initial scan of a folder: newest first, in bounded steps, resumed where it was interrupted. */
import type { FolderRef } from '../../commands/mail/message.ts';
import type { ImapConnection } from '../mail/imap-connection.ts';
import { openIfThere } from '../mail/open-folder.ts';
import { searchUids } from '../mail/search-uids.ts';
import type { MailboxSync } from './mailbox-sync.ts';
import { fetchMirrored } from './fetch-changes.ts';

/** UIDs searched at once; widened in a sparse folder. */
const UIDS_PER_SEARCH = 20_000;

/**
 * One step, in its own turn: at most `size` messages below what the mirror has. True when the folder is complete, which is
 * appended once; null when the folder is gone or its UIDVALIDITY changed. Throws as `MailboxSync.apply` and
 * `ImapConnection.run`.
 */
export function scanFolder(
  sync: MailboxSync,
  connection: ImapConnection,
  folder: FolderRef,
  size: number,
): Promise<boolean | null> {
  return sync.inTurn(async () => {
    const mirror = await sync.mirrorOf(folder);
    if (mirror === null || mirror.indexedFrom === 1) return true;
    const open = await openIfThere(connection, folder.path, 'read');
    if (open?.uidValidity !== mirror.uidValidity) return null;
    const { uids, from } = open.exists === 0 ? NOTHING : await uidsBelow(connection, mirror.indexedFrom);
    const taken = uids.slice(-size);
    const indexedFrom = taken.length < uids.length ? (taken[0] ?? from) : from;
    const added = await fetchMirrored(connection, folder, mirror.uidValidity, taken);
    const about = { mailbox_id: sync.mailboxId, folder: folder.number, uid_validity: mirror.uidValidity };
    const isComplete = indexedFrom === 1;
    const feedPosition = isComplete
      ? await sync.appendOnce({ type: 'FolderIndexed', data: { ...about, count: open.exists } })
      : mirror.feedPosition;
    await sync.apply(folder, { added, mirror: { ...mirror, indexedFrom, feedPosition } });
    return isComplete;
  });
}

const NOTHING = { uids: [] as readonly number[], from: 1 };

/** The UIDs of the nearest non-empty range below `uid`, and the start of that range. */
async function uidsBelow(
  connection: ImapConnection,
  uid: number,
): Promise<{ readonly uids: readonly number[]; readonly from: number }> {
  let width = UIDS_PER_SEARCH;
  for (let to = uid - 1; to >= 1;) {
    const from = Math.max(1, to - width + 1);
    const uids = await searchUids(connection, { uid: `${String(from)}:${String(to)}` });
    const below = uids.filter((each) => each <= to && each >= from);
    if (below.length > 0) return { uids: below, from };
    to = from - 1;
    width *= 4;
  }
  return NOTHING;
}
