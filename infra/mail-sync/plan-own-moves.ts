/** Which of the gateway's own moves the mirror can make by itself, without a look at the mail server. Pure. */
import type { OwnChange, OwnDeparture } from '../../commands/ports/change-attribution.ts';
import type { Locators } from '../../commands/ports/ports.ts';
import type { MovedMessage } from '../mail-index/folder-mirror.ts';

/** The mirror of a folder when its settled changes were read. */
export interface SettledFolder {
  readonly number: number;
  readonly uidValidity: number;
  readonly uidNext: number;
  readonly total: number;
  readonly invalidations: number;
  /** The count that the mirror was last brought up to. */
  readonly trusted: number;
  /** A look at the server finds every later change: it has CONDSTORE, and the mirror is not about to change otherwise. */
  readonly isFollowed: boolean;
}

/** A settled own change of a folder. */
export interface SettledChange {
  readonly id: string;
  /** Changes of one operation have the same. */
  readonly expectation: string;
  readonly operationId: string | null;
  readonly change: OwnChange;
  /** A look was first: the mirror shows the message no more, or already. */
  readonly isTaken: boolean;
  /** Of a message that leaves: its flags in the mirror; null when the mirror does not show it. */
  readonly flags: readonly string[] | null;
}

/** `to` is null where the message is in the mirror of its new folder already, or a poll brings it there. */
export interface OwnMove extends Omit<MovedMessage, 'to'> {
  readonly to: number | null;
  readonly flags: readonly string[];
}

export interface OwnMovesPlan {
  readonly moves: readonly OwnMove[];
  /** Folders that only a look brings up to date. */
  readonly unclear: ReadonlySet<number>;
}

interface Candidate extends OwnMove {
  readonly to: number;
  /** A poll was first at its new place. */
  readonly isArrived: boolean;
  /** Ids of its two changes. */
  readonly echoes: readonly string[];
}

/**
 * A folder is clear when every settled change in it is in the mirror or belongs to a move that the server reported with its
 * new place, nothing else invalidated its mirror, and no UID between the known and the arrived ones is unknown. A message
 * arrives with what the mirror of its source has, so that has to be clear too; not where a poll saw it arrive.
 */
export function planOwnMoves(
  folders: readonly SettledFolder[],
  changes: readonly SettledChange[],
  locators: Pick<Locators, 'openMessage'>,
): OwnMovesPlan {
  const candidates = candidatesIn(changes, folders, locators);
  const explained = new Set(candidates.flatMap(({ echoes }) => echoes));
  const byFolder = Map.groupBy(changes, ({ change }) => change.folder);
  const clear = new Set(
    folders
      .filter((folder) => isClear(folder, byFolder.get(folder.number) ?? [], explained))
      .map(({ number }) => number),
  );
  for (let size = -1; size !== clear.size;) {
    ({ size } = clear);
    for (const { from, to, isArrived } of candidates) if (!isArrived && !clear.has(from)) clear.delete(to);
  }
  const all = [...folders.map(({ number }) => number), ...changes.map(({ change }) => change.folder)];
  return {
    moves: candidates
      .filter(({ from }) => clear.has(from))
      .map(({ isArrived, ...move }) => (clear.has(move.to) && !isArrived ? move : { ...move, to: null })),
    unclear: new Set(all.filter((number) => !clear.has(number))),
  };
}

function isClear(
  { uidValidity, uidNext, invalidations, trusted, isFollowed }: SettledFolder,
  own: readonly SettledChange[],
  explained: ReadonlySet<string>,
): boolean {
  const settled = new Set(own.map(({ expectation }) => expectation)).size;
  if (!isFollowed || trusted + settled !== invalidations) return false;
  const arrived = own
    .filter(({ change, isTaken }) => change.kind === 'arrives' && !isTaken)
    .map(({ change }) => change.uid ?? 0)
    .sort((a, b) => a - b);
  return (
    own.every(
      ({ id, change, isTaken }) => change.uidValidity === uidValidity && (isTaken || explained.has(id)),
    ) && arrived.every((uid, index) => uid === uidNext + index)
  );
}

/** Moves of messages that the mirror shows in their old folder, with their new places. */
function candidatesIn(
  changes: readonly SettledChange[],
  folders: readonly SettledFolder[],
  { openMessage }: Pick<Locators, 'openMessage'>,
): readonly Candidate[] {
  const validities = new Map(folders.map(({ number, uidValidity }) => [number, uidValidity]));
  const departures = new Map(
    changes.flatMap((departure) => {
      const { expectation, change } = departure;
      const isMove = change.kind === 'leaves' && change.moved;
      return isMove ? [[departureKey(expectation, change), departure]] : [];
    }),
  );
  return changes.flatMap(({ id, expectation, operationId, isTaken, change: arrival }): Candidate[] => {
    if (arrival.kind !== 'arrives' || arrival.previousId === null || arrival.uid === null) return [];
    const place = openMessage(arrival.previousId);
    if (place === null || operationId === null) return [];
    const { folderNumber: from, uid, uidValidity } = place;
    const left = departures.get(departureKey(expectation, { folder: from, uidValidity, uid }));
    if (!left?.flags || uidValidity !== validities.get(from)) return [];
    const { folder: to, uid: newUid } = arrival;
    return [{ from, uid, to, newUid, flags: left.flags, isArrived: isTaken, echoes: [left.id, id] }];
  });
}

const departureKey = (
  expectation: string,
  { folder, uidValidity, uid }: Pick<OwnDeparture, 'folder' | 'uidValidity' | 'uid'>,
): string => [expectation, folder, uidValidity, uid].join('/');
