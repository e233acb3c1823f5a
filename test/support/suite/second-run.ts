/**
 * What failed beside other jobs is run once more, alone: a test that waits for real servers can lose the processor to its
 * neighbours for longer than it waits. The first failure is printed all the same. Three things stay failed at once: a
 * static check; a file with a long form, which judges races, crash points or load, where one failure is a finding; and
 * everything, when so many files failed that no neighbour explains it.
 */
import type { FinishedJob, Job } from './job.ts';

/** More failed files than these are a broken product. */
export const MOST_FILES = 4;

export interface Judgement {
  readonly finished: readonly FinishedJob[];
  /** The failures beside other jobs of those files that passed alone. */
  readonly unstable: readonly string[];
}

export interface SecondRun {
  readonly isStrict: (file: string) => boolean;
  readonly jobOf: (files: readonly string[]) => Job;
  readonly run: (job: Job) => Promise<FinishedJob>;
}

/** Runs again what may be run again; the jobs of which all files passed alone count as passed. */
export async function judgeAlone(
  finished: readonly FinishedJob[],
  { isStrict, jobOf, run }: SecondRun,
): Promise<Judgement> {
  const failed = finished.filter(({ failures }) => failures.length > 0);
  const files = new Set(failed.flatMap(({ failedFiles = [] }) => failedFiles));
  if (files.size > MOST_FILES) return { finished, unstable: [] };
  const unstable: string[] = [];
  const judged: FinishedJob[] = [];
  for (const job of finished) {
    const { failures, failedFiles = [], passed } = job;
    const mayRun = failures.length > 0 && failedFiles.length > 0 && !failedFiles.some(isStrict);
    const isPassed = mayRun && (await run(jobOf(failedFiles))).failures.length === 0;
    if (isPassed) unstable.push(...failures);
    judged.push(isPassed ? { ...job, failures: [], passed: passed + failures.length } : job);
  }
  return { finished: judged, unstable };
}
