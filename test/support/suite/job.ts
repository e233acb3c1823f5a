/** A job of the test run and its result. */
export interface JobResult {
  readonly passed: number;
  /** One readable text per failure. */
  readonly failures: readonly string[];
  /** The test files that the failures are of; none when a check failed that is no test. */
  readonly failedFiles?: readonly string[];
  /** Titles of the tests that did not run. */
  readonly skipped: readonly string[];
  /** Measurements of the tests, one line each. */
  readonly figures?: readonly string[];
}

export interface Job {
  readonly name: string;
  run(): Promise<JobResult>;
}

export interface FinishedJob extends JobResult {
  readonly name: string;
  readonly seconds: number;
}

/** Runs the jobs in order, `slots` at a time, and reports each as it ends. */
export async function runJobs(
  jobs: readonly Job[],
  slots: number,
  onFinished: (job: FinishedJob) => void,
): Promise<readonly FinishedJob[]> {
  const waiting = [...jobs];
  const finished: FinishedJob[] = [];
  const work = async (): Promise<void> => {
    for (let job = waiting.shift(); job !== undefined; job = waiting.shift()) {
      const startedAt = performance.now();
      const result = await job.run();
      const done = { ...result, name: job.name, seconds: (performance.now() - startedAt) / 1000 };
      finished.push(done);
      onFinished(done);
    }
  };
  await Promise.all(Array.from({ length: slots }, work));
  return finished;
}
