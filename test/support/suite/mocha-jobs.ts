/** The test files as jobs: mocha processes, of which several run in parallel and share nothing. */
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FIGURE } from './long.ts';
import { runNode } from './child.ts';
import type { Job, JobResult } from './job.ts';
import { readMochaReport } from './mocha-report.ts';
import { groupTests, type TestFile } from './test-groups.ts';

/** Every test has a limit of its own. Some of those that kill processes are in one job, on a busy machine. */
const TIMEOUT_MS = 1_800_000;
const LONG_TIMEOUT_MS = 60 * 60_000;
/** How long a process may live after its last test before something counts as left open. */
const LINGER_MS = 20_000;

/** They count statements over a time: what a busy machine delays is repeated, and counted again. */
const COUNTING = 'test/e2e/cost-of-*.test.ts';

/** Every test file but those of `countingJob`; `groupTests` combines some in one process. */
export function mochaJobs(): readonly Job[] {
  const files = globSync('test/**/*.test.ts', { exclude: [COUNTING] }).sort();
  return groupTests(files.map(factsOf)).map(({ name, files }) =>
    mochaJob(
      name,
      files.map(({ path }) => path),
    ),
  );
}

/** The files that count what an operation costs: to be run when nothing else runs. */
export const countingJob = (): Job => mochaJob('costs, alone', globSync(COUNTING).sort());

/** The files that have a long form, one job each. */
export function longJobs(): readonly Job[] {
  const files = globSync('test/**/*.test.ts').sort().filter(hasLongForm);
  return files.map((file) => mochaJob(file, [file], LONG_TIMEOUT_MS));
}

const imports = (file: string, pattern: RegExp): boolean => pattern.test(readFileSync(file, 'utf8'));

export const hasLongForm = (file: string): boolean => imports(file, /\/support\/suite\/long\.ts'/);

const startsGateways = (file: string): boolean =>
  imports(file, /\/support\/(worlds\/(gateway-process|replica-set)|servers\/run-command)\.ts'/);

/** What the grouping reads of a test file. */
export const factsOf = (path: string): TestFile => ({
  path,
  bytes: statSync(path).size,
  isLengthy: hasLongForm(path) || startsGateways(path),
});

/** One mocha process over these files. */
export const mochaJob = (name: string, files: readonly string[], timeoutMs = TIMEOUT_MS): Job => ({
  name,
  async run() {
    const folder = mkdtempSync(join(tmpdir(), 'gateway-test-report-'));
    try {
      return await runMocha(files, join(folder, 'report.json'), timeoutMs);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
});

async function runMocha(files: readonly string[], report: string, timeoutMs: number): Promise<JobResult> {
  const args = ['node_modules/.bin/mocha', '--reporter', 'json', '--reporter-option', `output=${report}`];
  // In its long form a test may take as long as its process.
  const long = timeoutMs > TIMEOUT_MS ? ['--timeout', String(timeoutMs)] : [];
  const { code, output, ended } = await runNode([...args, ...long, ...files], {
    timeoutMs,
    watch: lingering(report),
  });
  const told = readMochaReport(report) ?? { passed: 0, failures: [], skipped: [] };
  const result = { ...told, figures: figuresIn(output) };
  const problem = problemOf(result, code, ended);
  return problem === null
    ? result
    : { ...result, failures: [...result.failures, [problem, output.trim()].join('\n')], failedFiles: files };
}

const figuresIn = (output: string): readonly string[] =>
  output.split('\n').flatMap((line) => (line.startsWith(FIGURE) ? [line.slice(FIGURE.length)] : []));

function problemOf(result: JobResult, code: number | null, ended: string | null): string | null {
  if (ended !== null) return `The test process was ended: ${ended}.`;
  if (result.failures.length > 0) return null;
  if (code !== 0) return `The test process ended with code ${String(code)}.`;
  return result.passed + result.skipped.length === 0 ? 'No test ran.' : null;
}

function lingering(report: string): () => string | null {
  let reportedAt = Infinity;
  return () => {
    if (reportedAt === Infinity && existsSync(report)) reportedAt = Date.now();
    const isLingering = Date.now() - reportedAt > LINGER_MS;
    return isLingering ? 'its tests are over, yet a socket, timer or child is still open' : null;
  };
}
