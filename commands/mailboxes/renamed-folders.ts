/**
 * Detects folders that other clients renamed, alone or with their subfolders, from two folder lists. Pure.
 */

interface GoneFolder {
  readonly number: number;
  readonly path: string;
  /** Null when the folder holds no messages. */
  readonly uidValidity: number | null;
}

interface FreshFolder {
  readonly pathKey: string;
  readonly path: string;
  readonly uidValidity: number | null;
}

interface FolderChange {
  readonly gone: readonly GoneFolder[];
  readonly fresh: readonly FreshFolder[];
  /** Paths in both lists. */
  readonly kept: readonly string[];
  readonly delimiter: string;
}

/** Above this many pairs of old and new folders no rename is derived. */
const MOST_PAIRS = 10_000;

/**
 * Path key → number. A whole tree moved from one prefix to another: every folder below the old one is gone,
 * every one below the new one is new, and each pair has one UIDVALIDITY, which a rename keeps (RFC 9051
 * 6.3.6). Ambiguous matches are omitted: a wrong guess would make old message ids name other messages.
 */
export function renamedFolders(change: FolderChange): ReadonlyMap<string, number> {
  const { gone, fresh } = change;
  const renamed = new Map<string, number>();
  if (gone.length * fresh.length > MOST_PAIRS) return renamed;
  const trees = treesOf(change);
  const moves = gone.flatMap((from) =>
    fresh
      .filter(({ uidValidity }) => from.uidValidity !== null && uidValidity === from.uidValidity)
      .map((to) => widestMove(trees, trees.prefixesOf(from), trees.prefixesOf(to))),
  );
  // A larger tree is stronger evidence than a part of it when UIDVALIDITY is the same everywhere.
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

/**
 * The folders below each prefix, indexed once: a list may contain thousands of folders, all with one
 * UIDVALIDITY.
 */
interface Trees {
  readonly gone: ReadonlyMap<string, readonly GoneFolder[]>;
  readonly fresh: ReadonlyMap<string, ReadonlyMap<string, FreshFolder>>;
  readonly kept: ReadonlySet<string>;
  /** The prefixes of a folder that is gone or new: each level from the top, with all levels above it. */
  readonly prefixesOf: (folder: GoneFolder | FreshFolder) => readonly string[];
}

function treesOf({ gone, fresh, kept, delimiter }: FolderChange): Trees {
  const known = new Map([...gone, ...fresh].map((each) => [each, prefixes(each.path, delimiter)]));
  const prefixesOf = (folder: GoneFolder | FreshFolder): readonly string[] => known.get(folder) ?? [];
  const below = <Folder extends GoneFolder | FreshFolder>(folders: readonly Folder[]) =>
    [
      ...Map.groupBy(
        folders.flatMap((folder) => prefixesOf(folder).map((prefix) => ({ prefix, folder }))),
        ({ prefix }) => prefix,
      ),
    ].map(([prefix, all]) => [prefix, all.map(({ folder }) => folder)] as const);
  return {
    gone: new Map(below(gone)),
    fresh: new Map(
      below(fresh).map(([prefix, all]) => [prefix, new Map(all.map((folder) => [folder.path, folder]))]),
    ),
    kept: new Set(kept.flatMap((path) => prefixes(path, delimiter))),
    prefixesOf,
  };
}

function prefixes(path: string, delimiter: string): readonly string[] {
  const found: string[] = [];
  for (let end = path.indexOf(delimiter); end >= 0; end = path.indexOf(delimiter, end + delimiter.length))
    found.push(path.slice(0, end));
  return [...found, path];
}

/** The pairs of the highest prefix whose move explains this one; empty when no move does. */
function widestMove(trees: Trees, old: readonly string[], now: readonly string[]): readonly Pair[] {
  /** The path after the prefix that is `cut` levels above the folder. */
  const rest = (all: readonly string[], cut: number): string =>
    (all.at(-1) ?? '').slice(all.at(-1 - cut)?.length ?? 0);
  let common = 0;
  const most = Math.min(old.length, now.length) - 1;
  while (common < most && rest(old, common + 1) === rest(now, common + 1)) common += 1;
  for (let cut = common; cut >= 0; cut -= 1) {
    const pairs = pairsOf(trees, old.at(-1 - cut) ?? '', now.at(-1 - cut) ?? '');
    if (pairs !== null) return pairs;
  }
  return [];
}

function pairsOf({ gone, fresh, kept }: Trees, before: string, after: string): readonly Pair[] | null {
  if (kept.has(before) || kept.has(after)) return null;
  const targets = fresh.get(after);
  const moved = gone.get(before) ?? [];
  if (moved.length !== (targets?.size ?? 0)) return null;
  const pairs: Pair[] = [];
  for (const { number, path, uidValidity } of moved) {
    const target = targets?.get(after + path.slice(before.length));
    if (target?.uidValidity !== uidValidity) return null;
    pairs.push([target.pathKey, number]);
  }
  return pairs;
}
