import type { Ports } from '../../../commands/ports/ports.ts';
import { SweeperRun } from '../../../infra/background/run-sweeper.ts';
import { runRows } from '../../../infra/background/run-sweepers.ts';
import { sweepersOf } from '../../../infra/background/sweepers.ts';

/** Runs these rows of the table until the signal aborts. Throws for a name that is not in the table. */
export async function runNamedSweepers(
  ports: Ports,
  names: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const rows = sweepersOf(ports).filter(({ name }) => names.includes(name));
  if (rows.length !== names.length) throw new Error(`not all of ${names.join(', ')} are sweepers`);
  await runRows(
    rows.map((row) => new SweeperRun(row, ports)),
    ports,
    signal,
  );
}
