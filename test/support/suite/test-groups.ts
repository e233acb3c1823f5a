/** Groups test files into processes: few processes to start, but enough to run in parallel. */
import { dirname } from 'node:path';

export interface TestFile {
  readonly path: string;
  readonly bytes: number;
  /** It has a long form, or starts gateways in processes of their own. */
  readonly isLengthy: boolean;
}

export interface TestGroup {
  readonly name: string;
  readonly files: readonly TestFile[];
}

/** Bytes of test code in one process: starting one with Postgres and gateway costs as much as many files. */
const GATHERED_BYTES = 60_000;

/**
 * `test/unit` is quick and forms one group. Elsewhere a file of `test/e2e` or a folder joins its neighbours,
 * or runs alone when large. Groups with a lengthy file come first, then the largest: nothing long is last.
 */
export function groupTests(files: readonly TestFile[]): readonly TestGroup[] {
  const units = Map.groupBy(files, ({ path }) => unitOf(path));
  return gather([...units].map(([name, inUnit]) => ({ name, files: inUnit }))).toSorted(
    (a, b) => Number(isLengthy(b)) - Number(isLengthy(a)) || bytesOf(b) - bytesOf(a),
  );
}

function unitOf(path: string): string {
  const part = partOf(path);
  if (part === 'test/unit') return part;
  return part === 'test/e2e' ? path : dirname(path);
}

/** `test/e2e` of `test/e2e/access.test.ts`. */
const partOf = (path: string): string => path.split('/').slice(0, 2).join('/');

const isLengthy = ({ files }: TestGroup): boolean => files.some((file) => file.isLengthy);

const bytesOf = ({ files }: TestGroup): number => files.reduce((sum, { bytes }) => sum + bytes, 0);

/** Neighbours within a part of `test/` become one group, named after all of them. */
function gather(units: readonly TestGroup[]): readonly TestGroup[] {
  const groups: TestGroup[] = [];
  const open = new Map<string, TestGroup>();
  for (const unit of units) {
    const part = partOf(unit.name);
    const joined = join(open.get(part), unit);
    if (bytesOf(unit) > GATHERED_BYTES) groups.push(unit);
    else if (bytesOf(joined) <= GATHERED_BYTES) open.set(part, joined);
    else {
      groups.push(...[open.get(part) ?? []].flat());
      open.set(part, unit);
    }
  }
  return [...groups, ...open.values()];
}

const join = (group: TestGroup | undefined, unit: TestGroup): TestGroup =>
  group === undefined
    ? unit
    : {
        name: `${group.name}, ${unit.name.split('/').slice(2).join('/')}`,
        files: [...group.files, ...unit.files],
      };
