/** The `Leases` port on `work.lease`. Times are the database's, so the clocks of gateways need not agree. */
import { randomUUID } from 'node:crypto';
import type { Leases } from '../../commands/ports/leases.ts';
import type { Log, Sql } from '../../commands/ports/ports.ts';

/**
 * Commits without waiting for the disk: a lease lost in a crash of the database only ended a little early,
 * and the exact revisions of the log still let one verdict win.
 */
const WITHOUT_FLUSH = "set_config('synchronous_commit', 'off', true)";

const TAKE = `
  insert into work.lease as held (name, run_id, until)
  select $1, $2, now() + $3 * interval '1 millisecond' from ${WITHOUT_FLUSH}
  on conflict (name) do update set run_id = excluded.run_id, until = excluded.until
  where held.until <= now() or held.run_id = excluded.run_id
  returning true as mine`;

const ACQUIRE = { name: 'lease_acquire', text: TAKE };

/** For a statement that takes the lease `$1` for the run `$2` and `$3` milliseconds, and goes on where it has a row. */
export const LEASE_TAKEN = `with taken as (${TAKE})`;

const RELEASE = {
  name: 'lease_release',
  text: `delete from work.lease using ${WITHOUT_FLUSH} where name = $1 and run_id = $2`,
};

const RENEW = `
  update work.lease set until = now() + $3 * interval '1 millisecond'
  where run_id = $2 and name = any($1)
  returning name`;

export interface RunningLeases extends Leases {
  /**
   * Extends every lease this run holds. The timer calls it; tests may too. A lost lease is no longer
   * extended.
   */
  renew(): Promise<void>;
  /** Ends the timer and releases all leases held. */
  close(): Promise<void>;
}

export interface LeaseTimes {
  readonly leaseMs: number;
  readonly renewEveryMs: number;
}

/** Two renewals may fail before a lease runs out. */
export const leaseTimes = (leaseMs: number): LeaseTimes => ({ leaseMs, renewEveryMs: leaseMs / 3 });

/** Starts one timer that renews all leases of this run, under its own run id. */
export function startLeases(
  sql: Sql,
  log: Log,
  { leaseMs, renewEveryMs }: LeaseTimes = leaseTimes(30_000),
): RunningLeases {
  const runId = randomUUID();
  /** Name → expiry by this process's monotonic clock, counted from before the statement was sent. */
  const held = new Map<string, number>();
  const monotonicMs = (): number => performance.now();

  const renew = async (): Promise<void> => {
    const names = [...held.keys()];
    if (names.length === 0) return;
    const until = monotonicMs() + leaseMs;
    const kept = await sql.query<{ name: string }>(RENEW, [names, runId, leaseMs]);
    const still = new Set(kept.map((row) => row.name));
    for (const name of names) {
      if (!still.has(name)) held.delete(name);
      else if (held.has(name)) held.set(name, until);
    }
  };
  const timer = setInterval(() => {
    renew().catch((error: unknown) => {
      log.warn('leases: not renewed', { held: held.size, error: String(error) });
    });
  }, renewEveryMs).unref();

  const acquireBy: Leases['acquireBy'] = async (name, take) => {
    const until = monotonicMs() + leaseMs;
    const isTaken = await take({ runId, leaseMs });
    if (isTaken) held.set(name, until);
    return isTaken;
  };
  const releaseBy: Leases['releaseBy'] = async (name, giveUp) => {
    held.delete(name);
    await giveUp({ runId, leaseMs });
  };

  return {
    runId,
    renew,
    acquireBy,
    releaseBy,
    acquire: (name) =>
      acquireBy(name, async () => (await sql.query(ACQUIRE, [name, runId, leaseMs])).length > 0),
    isHeld: (name) => (held.get(name) ?? 0) > monotonicMs(),
    release: (name) =>
      releaseBy(name, async () => {
        await sql.query(RELEASE, [name, runId]);
      }),
    holder: async (name) => {
      const [row] = await sql.query<{ run_id: string; until: Date }>(
        'select run_id, until from work.lease where name = $1 and until > now()',
        [name],
      );
      return row === undefined ? null : { runId: row.run_id, until: row.until };
    },
    close: async () => {
      clearInterval(timer);
      held.clear();
      await sql.query('delete from work.lease where run_id = $1', [runId]);
    },
  };
}
