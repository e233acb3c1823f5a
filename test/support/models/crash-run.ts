/** Runs work in a gateway that crashes at a point of it, or that is only watched. */
import type { CrashLine, CrashPoint, Passed } from './crash-line.ts';
import { endLeasesOf } from './crashed-run.ts';
import { type GatewayRun, openRun, type RunHome } from '../worlds/gateway-run.ts';

/** What is to be run, and where. */
export interface CrashStage {
  readonly home: RunHome;
  readonly openLine: () => Promise<CrashLine>;
  /** The same stores and servers, reached through the line. */
  readonly behind: (line: CrashLine) => RunHome;
}

const MET_WITHIN_MS = 10_000;

/** Every message that the work sends, in order, when nothing crashes. `settled`: what goes on behind its answer is over. */
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

/** The crash, after which the leases are free, as when thirty seconds have passed. `isOver` tells the work that nobody hears it. */
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
