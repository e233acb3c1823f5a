/** The lines in which two texts differ. Bounded: what is too different to be compared is told as taken out and put in. */

export interface ChangedLine {
  readonly change: 'removed' | 'added';
  readonly text: string;
}

/** Comparing takes the product of both lengths. */
const MAX_CELLS = 1_000_000;

/** Removed lines before the added ones of the same place, in the order of the texts. */
export function lineDiff(before: string, after: string): readonly ChangedLine[] {
  const [a, b] = [before.split('\n'), after.split('\n')];
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start += 1;
  let tail = 0;
  while (tail < Math.min(a.length, b.length) - start && a.at(-1 - tail) === b.at(-1 - tail)) tail += 1;
  const [from, to] = [a.slice(start, a.length - tail), b.slice(start, b.length - tail)];
  return from.length * to.length > MAX_CELLS ? [...removed(from), ...added(to)] : compared(from, to);
}

const removed = (lines: readonly string[]): ChangedLine[] =>
  lines.map((text) => ({ change: 'removed', text }));
const added = (lines: readonly string[]): ChangedLine[] => lines.map((text) => ({ change: 'added', text }));

/** Lengths of the longest common subsequences of what follows each pair of lines. */
function commonLengths(a: readonly string[], b: readonly string[]): (i: number, j: number) => number {
  const width = b.length + 1;
  const lengths = new Uint32Array((a.length + 1) * width);
  const at = (i: number, j: number): number => lengths[i * width + j] ?? 0;
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      lengths[i * width + j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  return at;
}

/** Along the longest common subsequence. */
function compared(a: readonly string[], b: readonly string[]): readonly ChangedLine[] {
  const common = commonLengths(a, b);
  const lines: ChangedLine[] = [];
  let [i, j] = [0, 0];
  while (i < a.length && j < b.length) {
    if (a[i] === b[j]) [i, j] = [i + 1, j + 1];
    else if (common(i + 1, j) >= common(i, j + 1)) lines.push(...removed(a.slice(i, (i += 1))));
    else lines.push(...added(b.slice(j, (j += 1))));
  }
  return [...lines, ...removed(a.slice(i)), ...added(b.slice(j))];
}
