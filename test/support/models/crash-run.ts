/** Runs work in a gateway that crashes at a chosen point, or that is only observed. */
import type { CrashLine, CrashPoint, Passed } from './crash-line.ts';
import { endLeasesOf } from './crashed-run.ts';
import { type GatewayRun, openRun, type RunHome } from '../worlds/gateway-run.ts';

/** The work to run, and its place. */
export interface CrashStage {
  readonly home: RunHome;
  readonly openLine: () => Promise<CrashLine>;
  /** The same stores and servers, reached through the line. */
  readonly behind: (line: CrashLine) => RunHome;
}

const MET_WITHIN_MS = 30_000;

/** Every message of the work without a crash, in order. `settled`: the work after its answer has ended. */
export async function watchRun(
  { openLine, behind }: CrashStage,
  work: (run: GatewayRun) => Promise<unknown>,
  settled: () => Promise<void>,
): Promise<readonly Passed[]> {
  const line = await openLine();
  const run = openRun(behind(line));
  try {
    line.record();
    await work(run);
    await settled();
    return [...line.passed];
  } finally {
    await run.close();
    await line.close();
  }
}

/** The crash, with free leases as after thirty seconds. `isOver` reports that the caller is gone. */
export async function crashRun(
  { home, openLine, behind }: CrashStage,
  point: CrashPoint,
  work: (run: GatewayRun, isOver: () => boolean) => Promise<unknown>,
): Promise<void> {
  const line = await openLine();
  const reached = behind(line);
  const doomed = openRun(reached);
  const crash = { isOver: false };
  const met = line.crashAt(point, () => {
    crash.isOver = true;
  });
  const ended = work(doomed, () => crash.isOver).catch((error: unknown) => {
    if (!crash.isOver) throw error;
  });
  try {
    const inTime = await Promise.race([met.then(() => true), late(), ended.then(() => met.then(() => true))]);
    if (!inTime) throw new Error(`not met: ${JSON.stringify(point)}`);
  } finally {
    await doomed.close();
    await line.close();
    await ended;
  }
  await endLeasesOf(home.shared.sql, { runId: doomed.ports.leases.runId, databaseUrl: reached.databaseUrl });
}

const late = (): Promise<false> =>
  new Promise((resolve) => {
    setTimeout(() => {
      resolve(false);
    }, MET_WITHIN_MS).unref();
  });
