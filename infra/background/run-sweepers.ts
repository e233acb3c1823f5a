/** Runs the background work of a process. One statement a second asks which of it is due: most of the time none is. */
import type { Ports, Sql } from '../../commands/ports/ports.ts';
import { repeat } from '../concurrency/repeat.ts';
import { WakeSignal } from '../concurrency/wake-signal.ts';
import type { RightsChange } from '../directory/changed-rights.ts';
import type { Metrics } from '../observability/metrics.ts';
import type { Sealer } from '../audit/sealer.ts';
import { auditSweepers } from './audit-sweeper.ts';
import { RightsInvalidation, TargetInvalidation } from './invalidation-sweepers.ts';
import { row, SweeperRun } from './run-sweeper.ts';
import { sweepersOf } from './sweepers.ts';

const LOOK_EVERY_MS = 1_000;
/** A row is swept at least so often, whatever its probe says. */
const UNTOLD_MS = 5 * 60_000;

/** Calls its listener with every later change of rights. */
interface RightsNews {
  onRightsChange(listener: (change: RightsChange) => void): void;
}

/** Runs every row until the signal aborts; resolves when the tasks under way have ended. */
export async function runSweepers(
  ports: Ports,
  {
    rights,
    metrics,
    sealer,
  }: { readonly rights: RightsNews; readonly metrics: Metrics; readonly sealer: Sealer },
  signal: AbortSignal,
): Promise<void> {
  const byRights = new RightsInvalidation(ports);
  rights.onRightsChange((change) => {
    if (!signal.aborted) byRights.changed(change);
  });
  const rows = [
    ...sweepersOf(ports),
    row(byRights),
    row(new TargetInvalidation(ports)),
    ...auditSweepers(ports, sealer, signal),
  ];
  const runs = rows.map((sweeper) => new SweeperRun(sweeper, { ...ports, metrics }));
  metrics.watchEach(
    {
      name: 'gateway_sweeper_lag_seconds',
      help: 'For how long background work that is due may not have begun, for lack of room or of a pass that succeeds.',
      label: 'sweeper',
    },
    () => new Map(runs.map(({ name, lagSeconds }) => [name, lagSeconds])),
  );
  await runRows(runs, ports, signal);
}

/** As `runSweepers`, for some rows. */
export async function runRows(
  runs: readonly SweeperRun[],
  { sql, clock, log }: Pick<Ports, 'sql' | 'clock' | 'log'>,
  signal: AbortSignal,
): Promise<void> {
  const wake = new WakeSignal();
  const stop = (): void => {
    wake.ring();
  };
  signal.addEventListener('abort', stop, { once: true });
  const look = repeat({ name: 'due-work', everyMs: LOOK_EVERY_MS, clock, log, signal, wake }, () =>
    lookAt(runs, sql, clock.now()),
  );
  const sweeps = runs.map((run) => (run.probe === undefined ? run.run(signal) : run.run(signal, UNTOLD_MS)));
  await Promise.all([look, ...sweeps]);
}

/** Asks the probes of all rows at once. When that fails, every row asks for itself. Throws what the statement throws. */
async function lookAt(runs: readonly SweeperRun[], sql: Sql, now: Date): Promise<void> {
  const probed = runs.filter(({ probe }) => probe !== undefined);
  const columns = probed.map(({ name, probe }) => `(${String(probe)}) as "${name}"`);
  let due: Record<string, boolean> | undefined;
  try {
    [due] = await sql.query<Record<string, boolean>>(`select ${['$1::timestamptz', ...columns].join(', ')}`, [
      now,
    ]);
  } finally {
    for (const run of probed) run.probed(due?.[run.name] !== false);
  }
}
