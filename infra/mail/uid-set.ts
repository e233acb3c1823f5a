/** UIDs in IMAP syntax. */

/** A compact set (`1:3,7`), lowest first. Servers limit the length of a command line. */
export function uidSet(uids: Iterable<number>): string {
  const sorted = [...new Set(uids)].sort((a, b) => a - b);
  const ranges: { from: number; to: number }[] = [];
  for (const uid of sorted) {
    const last = ranges.at(-1);
    if (last?.to === uid - 1) last.to = uid;
    else ranges.push({ from: uid, to: uid });
  }
  return ranges
    .map(({ from, to }) => (from === to ? String(from) : `${String(from)}:${String(to)}`))
    .join(',');
}

/** Splits into pieces of at most `size`. */
export function inPieces<T>(items: readonly T[], size: number): readonly (readonly T[])[] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, at) =>
    items.slice(at * size, (at + 1) * size),
  );
}
