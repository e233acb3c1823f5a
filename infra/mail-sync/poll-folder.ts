/** One poll of a folder: brings the mirror to the current state of the mail server. */
import type { FolderRef } from '../../commands/mail/message.ts';
import type { ImapConnection, OpenFolder } from '../mail/imap-connection.ts';
import { folderStatus } from '../mail/examine-folder.ts';
import { openIfThere } from '../mail/open-folder.ts';
import type { FolderMirror } from '../mail-index/folder-mirror.ts';
import { dropExpected, expectedChanges, settledChanges } from './postgres-change-attribution.ts';
import type { MailboxSync } from './mailbox-sync.ts';
import { fetchChanges } from './fetch-changes.ts';
import { isPartial, type Pace, ingestMessages } from './ingest-messages.ts';

/**
 * Runs in its own turn. The mirror is valid after it, except for messages that the initial scan has not reached. Null when
 * the folder is no longer on the server. `onOpen` is called when the server has reported its news: the poll covers all of
 * it. Throws as `MailboxSync.apply` and `ImapConnection.run`.
 */
export function pollFolder(
  sync: MailboxSync,
  connection: ImapConnection,
  folder: FolderRef,
  onOpen?: () => void,
): Promise<FolderMirror | null> {
  return sync.inTurn(async () => await ingestFound(await find(sync, connection, folder, onOpen)));
}

/**
 * As `pollFolder`, with a turn for each piece, so that INBOX is polled in between. It ends early when `isOver`: then the
 * folder has to be polled again (`isPartial`).
 */
export async function pollInPieces(
  sync: MailboxSync,
  connection: ImapConnection,
  folder: FolderRef,
  isOver: () => boolean,
): Promise<FolderMirror | null> {
  sync.unfinished.add(folder.number);
  try {
    const found = await sync.inTurn(() => find(sync, connection, folder));
    return await ingestFound(found, { inTurn: (piece) => sync.inTurn(piece), isOver });
  } finally {
    sync.unfinished.delete(folder.number);
  }
}

/** Brings the mirror to the fetched state. */
type Ingest = (pace?: Pace) => Promise<FolderMirror | null>;

interface Found {
  readonly sync: MailboxSync;
  readonly ingest: Ingest;
  /** Self-caused changes that took effect before this poll: this poll or an earlier one covers them. */
  readonly settled: readonly string[];
}

async function find(
  sync: MailboxSync,
  connection: ImapConnection,
  folder: FolderRef,
  onOpen?: () => void,
): Promise<Found | null> {
  const settled = await settledChanges(sync.ports.sql, sync.mailboxId, folder.number);
  const invalidations = await sync.invalidationsOf(folder);
  const before = await sync.mirrorOf(folder);
  const open = await openIfThere(connection, folder.path, 'read');
  if (open === null) return null;
  onOpen?.();
  const poll = { sync, connection, folder, open, invalidations };
  const isSame = before?.uidValidity === open.uidValidity;
  return { sync, settled, ingest: isSame ? await pollKnown(poll, before) : await pollFirst(poll, before) };
}

async function ingestFound(found: Found | null, pace?: Pace): Promise<FolderMirror | null> {
  if (found === null) return null;
  const mirror = await found.ingest(pace);
  if (mirror && !isPartial(mirror)) await dropExpected(found.sync.ports.sql, found.settled);
  return mirror;
}

interface Poll {
  readonly sync: MailboxSync;
  readonly connection: ImapConnection;
  readonly folder: FolderRef;
  readonly open: OpenFolder;
  /** As counted before the folder was opened. */
  readonly invalidations: number;
}

async function pollKnown(poll: Poll, mirror: FolderMirror): Promise<Ingest> {
  const { sync, connection, folder, open, invalidations } = poll;
  const { clock, sql } = sync.ports;
  const known = async (fromUid: number): Promise<Iterable<number>> =>
    (await sync.index.flagsOf(sync.keyOf(folder), fromUid, mirror.uidNext)).keys();
  // Where the server does not report flag changes, the gateway's own changes are fetched all the same.
  const own = mirror.highestModseq === null ? await expectedChanges(sql, sync.mailboxId, folder.number) : [];
  const asked = own.flatMap(({ change }) =>
    change.kind !== 'arrives' && change.uidValidity === mirror.uidValidity ? [change.uid] : [],
  );
  const checkedAt = clock.now();
  const seen = await fetchChanges(connection, mirror, known, asked);
  const highest = Math.max(0, ...seen.present.keys());
  const final = {
    ...mirror,
    uidNext: Math.max(mirror.uidNext, open.uidNext ?? 0, highest + 1),
    highestModseq: seen.highestModseq,
    total: seen.total,
    checkedAt,
    invalidations,
  };
  return (pace) => ingestMessages({ sync, connection, folder, mirror }, seen, final, pace);
}

/** First poll, or UIDVALIDITY changed: existing messages belong to the initial scan, later ones are reported as changes. */
async function pollFirst(poll: Poll, before: FolderMirror | null): Promise<Ingest> {
  const { sync, connection, folder, open } = poll;
  const { uidValidity, exists: total } = open;
  const uidNext = open.uidNext ?? (await folderStatus(connection, folder)).uidNext;
  const about = { mailbox_id: sync.mailboxId, folder: folder.number, uid_validity: uidValidity };
  const feedPosition =
    before &&
    (await sync.appendOnce({
      type: 'FolderReset',
      data: { ...about, previous_uid_validity: before.uidValidity },
    }));
  const mirror = {
    uidValidity,
    uidNext,
    // Above 1 even for an empty folder: the initial scan reports when it is complete.
    indexedFrom: Math.max(uidNext, 2),
    highestModseq: connection.highestModseq,
    total,
    checkedAt: sync.ports.clock.now(),
    feedPosition,
    invalidations: poll.invalidations,
  };
  await sync.apply(folder, { reset: true, mirror });
  return () => Promise.resolve(mirror);
}
