/** Compares the whole mirror of a folder with the mail server and repairs what was missed. */
import type { FolderRef } from '../../commands/mail/message.ts';
import type { ImapConnection } from '../mail/imap-connection.ts';
import { openIfThere } from '../mail/open-folder.ts';
import type { MailboxSync } from './mailbox-sync.ts';
import { fetchFlags, sameFlags } from './fetch-changes.ts';
import { ingestMessages } from './ingest-messages.ts';

const UIDS_PER_RANGE = 2_000;

/**
 * Compares UIDs and flags range by range, each in its own turn, until the signal aborts. Returns the number of messages
 * that differed, or null when the folder is gone or its UIDVALIDITY changed. Throws as `MailboxSync.apply` and
 * `ImapConnection.run`.
 */
export async function compareFolder(
  sync: MailboxSync,
  connection: ImapConnection,
  folder: FolderRef,
  signal: AbortSignal,
): Promise<number | null> {
  let mended = 0;
  let width = UIDS_PER_RANGE;
  let to = ((await sync.mirrorOf(folder))?.uidNext ?? 1) - 1;
  while (to >= 1 && !signal.aborted) {
    const range = { from: Math.max(1, to - width + 1), to };
    const compared = await compareRange(sync, connection, folder, range);
    if (compared === null) return null;
    if (compared === 'below') return mended;
    mended += compared.different;
    // Sparse folders have wide gaps between their UIDs.
    width = compared.size === 0 ? width * 4 : UIDS_PER_RANGE;
    to = range.from - 1;
  }
  return mended;
}

interface Range {
  readonly from: number;
  readonly to: number;
}

/** Null when the folder is gone or its UIDVALIDITY changed; `below` when the mirror does not reach down to the range. */
function compareRange(
  sync: MailboxSync,
  connection: ImapConnection,
  folder: FolderRef,
  { from, to }: Range,
): Promise<{ readonly different: number; readonly size: number } | 'below' | null> {
  return sync.inTurn(async () => {
    const mirror = await sync.mirrorOf(folder);
    const open = await openIfThere(connection, folder.path, 'read');
    if (mirror === null || open?.uidValidity !== mirror.uidValidity) return null;
    if (to < mirror.indexedFrom) return 'below';
    const there = await fetchFlags(connection, `${String(from)}:${String(to)}`);
    const known = await sync.index.flagsOf(sync.keyOf(folder), from, to);
    const gone = new Set([...known.keys()].filter((uid) => !there.has(uid)));
    // The server may add flags of messages outside the range unasked.
    const asked = [...there].filter(([uid]) => uid >= from && uid <= to);
    const present = new Map(asked.filter(([uid, flags]) => !isAsKnown(flags, known.get(uid))));
    const different = gone.size + present.size;
    if (different > 0) await ingestMessages({ sync, connection, folder, mirror }, { present, gone }, mirror);
    return { different, size: known.size + there.size };
  });
}

const isAsKnown = (flags: readonly string[], known: readonly string[] | undefined): boolean =>
  known !== undefined && sameFlags(known, flags);
