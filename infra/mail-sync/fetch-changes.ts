/** The changes of a folder on the mail server since the mirror's last update. */
import type { FetchMessageObject } from 'imapflow';
import type { FolderRef } from '../../commands/mail/message.ts';
import { fetchEnvelopes } from '../mail/fetch-envelopes.ts';
import { FETCH_ITEMS, isDeleted, toFetchedMessage } from '../mail/fetched-message.ts';
import type { ImapConnection } from '../mail/imap-connection.ts';
import { searchUids } from '../mail/search-uids.ts';
import { uidSet } from '../mail/uid-set.ts';
import type { FolderMirror, MirroredMessage } from '../mail-index/folder-mirror.ts';
import { MIRRORED_FLAGS } from '../mail-index/folder-mirror.ts';

/** Messages that differ, or may differ, from the mirror. */
export interface FolderChanges {
  /** Flags of existing messages, by UID. */
  readonly present: ReadonlyMap<number, readonly string[]>;
  readonly gone: ReadonlySet<number>;
}

export interface Changes extends FolderChanges {
  /** EXISTS. */
  readonly total: number;
  /** Every flag change up to this one is included; null where the server keeps none. */
  readonly highestModseq: bigint | null;
}

/** Above this number, vanished UIDs are not collected: the folder is compared instead. */
const MAX_VANISHED = 200_000;

/**
 * Changes of the open folder: by CHANGEDSINCE and VANISHED (RFC 7162) where the server supports them, else new UIDs, the
 * `asked` ones, and a comparison of UIDs when the counts show that messages were expunged. Throws like
 * `ImapConnection.run`.
 */
export async function fetchChanges(
  connection: ImapConnection,
  mirror: FolderMirror,
  known: (fromUid: number) => Promise<Iterable<number>>,
  asked: readonly number[],
): Promise<Changes> {
  const since = connection.highestModseq === null ? null : mirror.highestModseq;
  const { present, vanished, total, modseq } = await fetchSince(connection, mirror, since);
  const gone = new Set([...vanished].filter((uid) => uid < mirror.uidNext));
  const arrived = [...present.keys()].filter((uid) => uid >= mirror.uidNext).length;
  if (since === null && asked.length > 0) await fetchAsked(connection, asked, { present, gone });
  const isReported = since !== null && connection.reportsVanished && vanished.size < MAX_VANISHED;
  if (!isReported && mirror.total + arrived !== total) {
    const there = new Set(await uidsFrom(connection, mirror.indexedFrom, total));
    for (const uid of await known(mirror.indexedFrom)) if (!there.has(uid)) gone.add(uid);
  }
  for (const uid of gone) present.delete(uid);
  return { present, gone, total, highestModseq: modseq };
}

async function fetchAsked(
  connection: ImapConnection,
  asked: readonly number[],
  { present, gone }: { present: Map<number, readonly string[]>; gone: Set<number> },
): Promise<void> {
  const fetched = await fetchFlags(connection, uidSet(asked));
  for (const [uid, flags] of fetched) present.set(uid, flags);
  for (const uid of asked) if (!fetched.has(uid)) gone.add(uid);
}

const uidsFrom = async (
  connection: ImapConnection,
  uid: number,
  exists: number,
): Promise<readonly number[]> =>
  exists === 0 ? [] : await searchUids(connection, { uid: `${String(uid)}:*` });

interface Since {
  readonly present: Map<number, readonly string[]>;
  readonly vanished: ReadonlySet<number>;
  readonly total: number;
  readonly modseq: bigint | null;
}

async function fetchSince(
  connection: ImapConnection,
  mirror: FolderMirror,
  since: bigint | null,
): Promise<Since> {
  const vanished = new Set<number>();
  const onExpunge = ({ uid }: { readonly uid?: number }): void => {
    if (uid !== undefined && vanished.size < MAX_VANISHED) vanished.add(uid);
  };
  return await connection.run(async (client) => {
    client.on('expunge', onExpunge);
    try {
      const floor = connection.highestModseq;
      const range = since === null ? `${String(mirror.uidNext)}:*` : '1:*';
      const options = { uid: true, ...(since === null ? {} : { changedSince: since }) };
      const present = new Map<number, readonly string[]>();
      for await (const { uid, flags } of client.fetch(range, { uid: true, flags: true }, options)) {
        // `n:*` always includes the last message, even below n.
        if (isWhole(uid, flags) && (since !== null || uid >= mirror.uidNext))
          present.set(uid, mirroredFlags(flags));
      }
      const total = client.mailbox === false ? 0 : client.mailbox.exists;
      return { present, vanished, total, modseq: floor };
    } finally {
      client.off('expunge', onExpunge);
    }
  });
}

/** Flags of the messages in a UID set that still exist. Throws like `ImapConnection.run`. */
export async function fetchFlags(
  connection: ImapConnection,
  set: string,
): Promise<ReadonlyMap<number, readonly string[]>> {
  return await connection.run(async (client) => {
    const present = new Map<number, readonly string[]>();
    for await (const { uid, flags } of client.fetch(set, { uid: true, flags: true }, { uid: true })) {
      if (isWhole(uid, flags)) present.set(uid, mirroredFlags(flags));
    }
    return present;
  });
}

/** False for what a server may add unasked: flags without the UID (RFC 3501 7.4.2), a new MODSEQ alone (RFC 7162 3.1.4.2). */
const isWhole = (uid: number | undefined, flags: unknown): boolean =>
  uid !== undefined && flags !== undefined;

/** Messages of the open folder in the mirror's form, including those marked `\Deleted`. Throws like `ImapConnection.run`. */
export async function fetchMirrored(
  connection: ImapConnection,
  folder: FolderRef,
  uidValidity: number,
  uids: readonly number[],
): Promise<readonly MirroredMessage[]> {
  if (uids.length === 0) return [];
  const fetched = await fetchEnvelopes(connection, uids, FETCH_ITEMS.structure);
  const mirrored = (message: FetchMessageObject): MirroredMessage => ({
    ...toFetchedMessage(message, { folder, uidValidity }, connection.sharedFolders),
    deleted: isDeleted(message),
  });
  return fetched.map(mirrored);
}

/** Flags in the mirror's form, so that server and mirror can be compared. */
const SYSTEM_FLAGS = new Map<string, string>(MIRRORED_FLAGS.map((flag) => [flag.toLowerCase(), flag]));

/** The mirrored system flags in the case of RFC 3501, keywords unchanged; sorted and unique. */
export function mirroredFlags(flags: Iterable<string> | undefined): readonly string[] {
  const known = [...(flags ?? [])].flatMap((flag) =>
    flag.startsWith('\\') ? (SYSTEM_FLAGS.get(flag.toLowerCase()) ?? []) : [flag],
  );
  return [...new Set(known)].sort();
}

/** True for the same flags in any order. */
export const sameFlags = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((flag) => b.includes(flag));
