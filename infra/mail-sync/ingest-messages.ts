/** Writes fetched changes to the feed first and to the mirror second, in pieces (`contract.md` 11). */
import { type Difference, type ExpectedChange, observeChanges } from '../../commands/feed/observe-changes.ts';
import { MAX_CHANGES } from '../../commands/feed/feed-events.ts';
import { inPieces } from '../mail/uid-set.ts';
import type { FolderMirror, FolderUpdate, MirroredMessage } from '../mail-index/folder-mirror.ts';
import { dropExpected, expectedChanges } from './postgres-change-attribution.ts';
import type { FolderAt } from './mailbox-sync.ts';
import { fetchMirrored, sameFlags, type FolderChanges } from './fetch-changes.ts';

/** Messages per step: bounds what is fetched at once and the events of one append. */
const UIDS_PER_STEP = 250;
/** UIDs closer together than this are read from the mirror in one range. */
const NEAR = 500;
/** Below any real count of invalidations: the mirror stays invalidated until the last piece is written. */
export const NOT_YET = -1;

/** How the pieces of one poll are scheduled. */
export interface Pace {
  /** Runs a piece while no other step of the mailbox runs. */
  readonly inTurn: <T>(piece: () => Promise<T>) => Promise<T>;
  /** The rest is left to another poll. */
  readonly isOver: () => boolean;
}

/** For a caller whose own turn covers all pieces. */
const AT_ONCE: Pace = { inTurn: (piece) => piece(), isOver: () => false };

/**
 * Brings the mirror to `final`, or part of the way when the pace is over (`isPartial`), and appends the differences. Null
 * when the folder was removed meanwhile. Throws as `apply`.
 */
export async function ingestMessages(
  at: FolderAt,
  seen: FolderChanges,
  final: FolderMirror,
  { inTurn, isOver }: Pace = AT_ONCE,
): Promise<FolderMirror | null> {
  const { indexedFrom } = at.mirror;
  const uids = [...new Set([...seen.present.keys(), ...seen.gone])]
    .filter((uid) => uid >= indexedFrom)
    .sort((a, b) => a - b);
  const pieces = inPieces(uids, UIDS_PER_STEP);
  if (pieces.length === 0) return await inTurn(() => unlessForgotten(at, () => applyFinal(at, final)));
  let { mirror } = at;
  for (const [index, piece] of pieces.entries()) {
    const before = { ...at, mirror };
    const next = index === pieces.length - 1 ? final : advanced(mirror, piece);
    const after = await inTurn(() => unlessForgotten(before, () => ingestPiece(before, seen, piece, next)));
    if (after === null) return null;
    // An interrupted poll skips what an earlier one ingested: each has to get further.
    if (after !== mirror && isOver()) return after;
    mirror = after;
  }
  return mirror;
}

/** The poll that left the mirror in this state was interrupted. */
export const isPartial = ({ invalidations }: FolderMirror): boolean => invalidations === NOT_YET;

/** Ascending: if the next piece is not reached, everything above this one is fetched again. */
const advanced = (mirror: FolderMirror, piece: readonly number[]): FolderMirror => ({
  ...mirror,
  uidNext: Math.max(mirror.uidNext, (piece.at(-1) ?? 0) + 1),
  invalidations: NOT_YET,
});

/** Between two turns a list may have shown that the folder is gone. */
const unlessForgotten = async <T>(
  { sync, folder, mirror }: FolderAt,
  step: () => Promise<T>,
): Promise<T | null> =>
  (await sync.mirrorOf(folder))?.uidValidity === mirror.uidValidity ? await step() : null;

const applyFinal = ({ sync, folder }: FolderAt, mirror: FolderMirror): Promise<FolderMirror> =>
  sync.apply(folder, { mirror });

/** Returns the mirror unchanged when there is nothing to ingest and more pieces follow. */
async function ingestPiece(
  at: FolderAt,
  seen: FolderChanges,
  uids: readonly number[],
  next: FolderMirror,
): Promise<FolderMirror> {
  const { sync, folder, mirror } = at;
  const known = await knownFlags(at, uids);
  const unknown = uids.filter((uid) => !known.has(uid) && seen.present.has(uid));
  const added = await fetchMirrored(at.connection, folder, mirror.uidValidity, unknown);
  const { sharesMessages } = at.connection.capabilities;
  const beside = sharesMessages ? await sync.index.foldersBeside(sync.keyOf(folder), uids, added) : null;
  const differences = differencesOf(at, { known, seen, added, uids, beside });
  if (differences.length === 0 && isPartial(next)) return mirror;
  const expected =
    differences.length === 0 ? [] : await expectedChanges(sync.ports.sql, sync.mailboxId, folder.number);
  const { position, attributed } = await appendChanges(at, differences, expected);
  const after = await sync.apply(folder, {
    added,
    ...changesOf(differences),
    mirror: { ...next, feedPosition: position ?? mirror.feedPosition },
  });
  await dropExpected(sync.ports.sql, attributed);
  return after;
}

interface Compared {
  readonly known: ReadonlyMap<number, readonly string[]>;
  readonly seen: FolderChanges;
  readonly added: readonly MirroredMessage[];
  readonly uids: readonly number[];
  /** The other folders of each message; null where no message is in two folders. */
  readonly beside: ReadonlyMap<number, readonly number[]> | null;
}

function differencesOf(
  { mirror }: FolderAt,
  { known, seen, added, uids, beside }: Compared,
): readonly Difference[] {
  const messageIds = new Map(added.map(({ ref, messageId }) => [ref.uid, messageId]));
  return uids.flatMap((uid): Difference[] => {
    const before = known.get(uid) ?? null;
    const after = seen.gone.has(uid) ? null : (seen.present.get(uid) ?? null);
    // It was expunged before it could be fetched, or equals the mirror.
    if (before === null ? !messageIds.has(uid) : after !== null && sameFlags(before, after)) return [];
    const alsoIn = beside === null ? undefined : (beside.get(uid) ?? []);
    const isNew = uid >= mirror.uidNext;
    return [{ uid, before, after, isNew, messageId: messageIds.get(uid) ?? null, alsoIn }];
  });
}

const changesOf = (differences: readonly Difference[]): Pick<FolderUpdate, 'flags' | 'removedUids'> => ({
  flags: differences.flatMap(({ uid, before, after }) => (before && after ? [{ uid, flags: after }] : [])),
  removedUids: differences.flatMap(({ uid, before, after }) => (before && !after ? [uid] : [])),
});

async function appendChanges(
  { sync, folder, mirror: { uidValidity } }: FolderAt,
  differences: readonly Difference[],
  expected: readonly ExpectedChange[],
): Promise<{ readonly position: bigint | null; readonly attributed: readonly string[] }> {
  const place = { mailboxNumber: sync.mailboxNumber, folderNumber: folder.number, uidValidity };
  const { changes, seen } = observeChanges(place, differences, expected, sync.ports.locators);
  const about = { mailbox_id: sync.mailboxId, folder: folder.number, uid_validity: uidValidity };
  const facts = inPieces(changes, MAX_CHANGES).map((piece) => ({
    type: 'MailboxChangesObserved' as const,
    data: { ...about, changes: [...piece] },
  }));
  return { position: facts.length === 0 ? null : await sync.feed.append(facts), attributed: [...seen] };
}

/** The mirror's flags of these UIDs (ascending), read in as few ranges as their gaps allow. */
export async function knownFlags(
  { sync, folder }: Pick<FolderAt, 'sync' | 'folder'>,
  uids: readonly number[],
): Promise<ReadonlyMap<number, readonly string[]>> {
  const ranges: { from: number; to: number }[] = [];
  for (const uid of uids) {
    const last = ranges.at(-1);
    if (last && uid - last.to <= NEAR) last.to = uid;
    else ranges.push({ from: uid, to: uid });
  }
  const known = new Map<number, readonly string[]>();
  for (const { from, to } of ranges) {
    for (const [uid, flags] of await sync.index.flagsOf(sync.keyOf(folder), from, to)) known.set(uid, flags);
  }
  return known;
}
