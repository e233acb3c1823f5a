import type { Ports } from '../../../commands/ports/ports.ts';
import { type Sweeper, SweeperRun } from '../../../infra/background/run-sweeper.ts';
import { runRows } from '../../../infra/background/run-sweepers.ts';
import { sweepersOf } from '../../../infra/background/sweepers.ts';

/**
 * Runs these rows of the table until the signal aborts. Throws for a name that is not in the table, and at the end where a
 * query found something of which the probe knew nothing.
 */
export async function runNamedSweepers(
  ports: Ports,
  names: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const rows = sweepersOf(ports).filter(({ name }) => names.includes(name));
  if (rows.length !== names.length) throw new Error(`not all of ${names.join(', ')} are sweepers`);
  const untold = new Set<string>();
  for (const row of rows) askBeside(row, ports, untold);
  await runRows(
    rows.map((row) => new SweeperRun(row, ports)),
    ports,
    signal,
  );
  if (untold.size > 0) throw new Error(`probes without what their query found: ${[...untold].join(', ')}`);
}

/** Asks the probe before and after each query that finds something. */
function askBeside(row: Sweeper, { sql }: Pick<Ports, 'sql'>, untold: Set<string>): void {
  const { name, probe } = row;
  if (probe === undefined) return;
  const find = row.find.bind(row);
  const holds = async (now: Date): Promise<boolean> => {
    const [asked] = await sql.query<{ due: boolean }>(`select $1::timestamptz, (${probe}) as due`, [now]);
    return asked?.due === true;
  };
  Object.assign(row, {
    find: async (room: Parameters<typeof find>[0]) => {
      const wasTold = await holds(room.now);
      const found = await find(room);
      if (found.length > 0 && !wasTold && !(await holds(room.now))) untold.add(name);
      return found;
    },
  });
}
