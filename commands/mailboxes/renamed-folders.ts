/** Folders that other clients renamed, alone or with all below them, as two lists show it. Pure. */

export interface GoneFolder {
  readonly number: number;
  readonly path: string;
  /** Null where the folder holds no messages. */
  readonly uidValidity: number | null;
}

export interface FreshFolder {
  readonly pathKey: string;
  readonly path: string;
  readonly uidValidity: number | null;
}

export interface FolderChange {
  readonly gone: readonly GoneFolder[];
  readonly fresh: readonly FreshFolder[];
  /** Paths in both lists. */
  readonly kept: readonly string[];
  readonly delimiter: string;
}

/** Beyond so many pairs of old and new folders nothing is guessed. */
const MOST_PAIRS = 10_000;

/**
 * Path key → number. A whole tree moved from one prefix to another: every folder below the old one is gone, every one below the
 * new one is new, and each pair has one UIDVALIDITY, which a rename keeps (RFC 9051 6.3.6). What fits twice is not told: a
 * wrong guess would make old message ids name other messages.
 */
export function renamedFolders(change: FolderChange): ReadonlyMap<string, number> {
  const { gone, fresh } = change;
  const renamed = new Map<string, number>();
  if (gone.length * fresh.length > MOST_PAIRS) return renamed;
  const moves = gone.flatMap((from) =>
    fresh
      .filter(({ uidValidity }) => from.uidValidity !== null && uidValidity === from.uidValidity)
      .map((to) => widestMove(change, from, to)),
  );
  // A whole tree says more than a part of it, where UIDVALIDITY is the same everywhere.
  for (const [, all] of [...Map.groupBy(moves, ({ length }) => length)].sort(([a], [b]) => b - a)) {
    const done = new Set(renamed.values());
    const open = all.flat().filter(([pathKey, number]) => !renamed.has(pathKey) && !done.has(number));
    for (const [pathKey, number] of certain(open)) renamed.set(pathKey, number);
  }
  return renamed;
}

type Pair = readonly [pathKey: string, number: number];

/** Pairs whose ends are in no other pair. */
function certain(pairs: readonly Pair[]): readonly Pair[] {
  const byKey = Map.groupBy(pairs, ([pathKey]) => pathKey);
  const byNumber = Map.groupBy(pairs, ([, number]) => number);
  return pairs.filter(
    ([pathKey, number]) =>
      byKey.get(pathKey)?.every((pair) => pair[1] === number) === true &&
      byNumber.get(number)?.every((pair) => pair[0] === pathKey) === true,
  );
}

/** The pairs of the highest prefix whose move explains this one; none when no move does. */
function widestMove(change: FolderChange, from: GoneFolder, to: FreshFolder): readonly Pair[] {
  const { delimiter } = change;
  const [old, now] = [from.path.split(delimiter), to.path.split(delimiter)];
  let common = 0;
  const most = Math.min(old.length, now.length) - 1;
  while (common < most && old.at(-1 - common) === now.at(-1 - common)) common += 1;
  for (let cut = common; cut >= 0; cut -= 1) {
    const [before, after] = [old, now].map((names) => names.slice(0, names.length - cut).join(delimiter));
    const pairs = pairsOf(change, before ?? '', after ?? '');
    if (pairs !== null) return pairs;
  }
  return [];
}

function pairsOf(
  { gone, fresh, kept, delimiter }: FolderChange,
  before: string,
  after: string,
): readonly Pair[] | null {
  const isBelow = (path: string, prefix: string): boolean =>
    path === prefix || path.startsWith(prefix + delimiter);
  if (kept.some((path) => isBelow(path, before) || isBelow(path, after))) return null;
  const targets = new Map(
    fresh.filter(({ path }) => isBelow(path, after)).map((folder) => [folder.path, folder]),
  );
  const moved = gone.filter(({ path }) => isBelow(path, before));
  if (moved.length !== targets.size) return null;
  const pairs = moved.flatMap(({ number, path, uidValidity }): Pair[] => {
    const target = targets.get(after + path.slice(before.length));
    return target?.uidValidity === uidValidity ? [[target.pathKey, number]] : [];
  });
  return pairs.length === moved.length ? pairs : null;
}
