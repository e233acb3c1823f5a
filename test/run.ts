/**
 * `npm test [-- [--tests-only] [files…]]`: static checks and every test, one job more at a time than there are processors,
 * and last, alone, the tests of what an operation costs.
 * `npm run test:long`: the tests that have a long form, in that form, one after the other; they may be named too.
 * The last line is `<n> passed, <n> failed`. With CI set, a test that was skipped is a failure. What failed beside other
 * jobs and passes alone is told as unstable.
 */
import { availableParallelism } from 'node:os';
import { join, resolve } from 'node:path';
import { ensureChromium } from './support/servers/ensure-chromium.ts';
import { ensureDovecot } from './support/servers/ensure-dovecot.ts';
import { makePostgresFolder } from './support/servers/postgres.ts';
import { endChildrenOnSignal } from './support/suite/child.ts';
import { type FinishedJob, type Job, runJobs } from './support/suite/job.ts';
import { countingJob, hasLongForm, longJobs, mochaJob, mochaJobs } from './support/suite/mocha-jobs.ts';
import { takeRunFolder } from './support/suite/run-folder.ts';
import { judgeAlone, type Judgement, type SecondRun } from './support/suite/second-run.ts';
import { lintCheck, quickChecks } from './support/suite/static-checks.ts';

const print = (line: string): void => {
  process.stdout.write(`${line}\n`);
};
const args = process.argv.slice(2);
const chosen = args.filter((argument) => !argument.startsWith('--'));
const isLongRun = args.includes('--long');
const isCi = ['1', 'true'].includes(process.env['CI'] ?? '');

function jobsOf(): readonly Job[] {
  if (isLongRun)
    return longJobs().filter(({ name }) => chosen.length === 0 || chosen.some((file) => name.endsWith(file)));
  if (chosen.length > 0) return [mochaJob('chosen files', chosen)];
  return args.includes('--tests-only') ? mochaJobs() : [lintCheck, ...mochaJobs(), ...quickChecks];
}

const indented = (text: string): string => text.replaceAll('\n', '\n   ');

function printFinished({ name, passed, failures, skipped, figures, seconds }: FinishedJob): void {
  const parts = [`${String(passed)} passed`];
  if (failures.length > 0) parts.push(`${String(failures.length)} FAILED`);
  if (skipped.length > 0) parts.push(`${String(skipped.length)} skipped`);
  print(`${seconds.toFixed(1).padStart(6)} s  ${name}: ${parts.join(', ')}`);
  for (const figure of figures ?? []) print(`            ${figure}`);
}

function reportAll({ finished, unstable }: Judgement): number {
  const skipped = finished.flatMap((job) => job.skipped);
  const failures = [
    ...finished.flatMap((job) => job.failures),
    ...(finished.length === 0 ? ['No test file was chosen.'] : []),
    ...(isCi ? skipped.map((title) => `${title}\nwas skipped, which CI does not accept.`) : []),
  ];
  if (!isCi && skipped.length > 0) print(`\nNot run here:\n  ${skipped.join('\n  ')}`);
  for (const failure of unstable)
    print(`\nUnstable, failed beside other jobs and passed alone: ${indented(failure)}`);
  for (const [index, failure] of failures.entries()) {
    print(`\n${String(index + 1)}) ${indented(failure)}`);
  }
  const passed = finished.reduce((sum, job) => sum + job.passed, 0);
  print(`\n${String(passed)} passed, ${String(failures.length)} failed`);
  return failures.length;
}

const ALONE: SecondRun = {
  isStrict: hasLongForm,
  jobOf: (files) => mochaJob(`once more alone, ${files.join(', ')}`, files),
  run: async (job) => {
    const [again] = await runJobs([job], 1, printFinished);
    if (again === undefined) throw new Error(`${job.name} did not run.`);
    return again;
  },
};

/** Compiled once for all processes of the run. Coverage is not exact for what comes from there. */
function shareCompiledCode(): void {
  if (process.env['NODE_V8_COVERAGE']) process.env['NODE_DISABLE_COMPILE_CACHE'] = '1';
  else process.env['NODE_COMPILE_CACHE'] ??= resolve('node_modules/.cache/node');
}

endChildrenOnSignal();
shareCompiledCode();
await ensureDovecot();
await ensureChromium();
const folder = await takeRunFolder({ onDisk: isLongRun });
await makePostgresFolder(join(folder, 'postgres'));
// What is measured is measured alone. Otherwise one more than there are processors: many a test waits for a clock.
const slots = isLongRun ? 1 : Math.min(4, availableParallelism()) + 1;
if (isLongRun) process.env['TEST_LONG'] = '1';
const finished = await runJobs(jobsOf(), slots, printFinished);
const ranAlone = isLongRun || chosen.length > 0;
const counted = ranAlone ? [] : await runJobs([countingJob()], 1, printFinished);
const judged = ranAlone ? { finished, unstable: [] } : await judgeAlone(finished, ALONE);
process.exitCode = reportAll({ ...judged, finished: [...judged.finished, ...counted] }) === 0 ? 0 : 1;
