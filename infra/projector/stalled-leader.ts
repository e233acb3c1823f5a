/**
 * A frozen leader keeps its Postgres session and with it the locks of its projections. Followers detect
 * events that wait at a checkpoint that does not move, and end the sessions that block it. Safe if wrong: a
 * leader that was only slow loses its lock and tries again, and if two leaders apply events, the
 * compare-and-set of the checkpoints decides.
 */
import type { Clock, Log, Sql } from '../../commands/ports/ports.ts';
import type { Position } from '../../commands/values/position.ts';
import type { ModelLag } from './lag.ts';
import { lockNumber } from './projection-tables.ts';

/** How long events wait at an unmoved checkpoint. With both polls, another process leads within 5 s. */
const STALLED_AFTER_MS = 2_000;

/** Sessions that hold the lock, and sessions idle in a transaction that has moved the checkpoint. */
const END_SESSIONS = `
  select pid, pg_terminate_backend(pid) from pg_locks
  where locktype = 'advisory' and granted and objsubid = 1 and pid <> pg_backend_pid()
    and database = (select oid from pg_database where datname = current_database())
    and (classid::bigint << 32) | objid::bigint = any($1::bigint[])
  union
  select a.pid, pg_terminate_backend(a.pid) from pg_locks l join pg_stat_activity a on a.pid = l.pid
  where l.relation = to_regclass('read.checkpoint') and l.mode = 'RowExclusiveLock' and a.pid <> pg_backend_pid()
    and l.database = (select oid from pg_database where datname = current_database())
    and a.state = 'idle in transaction' and a.state_change < now() - $2 * interval '1 millisecond'`;

interface Standing {
  readonly position: Position;
  readonly sinceMs: number;
}

export class StalledLeader {
  readonly #parts: { readonly sql: Sql; readonly clock: Clock; readonly log: Log };
  /** Projections with waiting events, by key. */
  #standing: ReadonlyMap<string, Standing> = new Map();

  constructor(parts: { readonly sql: Sql; readonly clock: Clock; readonly log: Log }) {
    this.#parts = parts;
  }

  /** Called after each measurement of models led elsewhere. Throws when the sessions cannot be ended. */
  async seen(models: readonly ModelLag[]): Promise<void> {
    const now = this.#parts.clock.elapsedMs();
    const standing = new Map(
      models
        .filter(({ waiting }) => waiting.length > 0)
        .map(({ key, position }) => {
          const before = this.#standing.get(key);
          return [key, before?.position === position ? before : { position, sinceMs: now }] as const;
        }),
    );
    this.#standing = standing;
    const stalled = [...standing].filter(([, { sinceMs }]) => now - sinceMs >= STALLED_AFTER_MS);
    if (stalled.length === 0) return;
    // Restarts the time, so that the next leader gets its own.
    this.#standing = new Map();
    const keys = stalled.map(([key]) => key);
    const ended = await this.#parts.sql.query(END_SESSIONS, [keys.map(lockNumber), STALLED_AFTER_MS]);
    if (ended.length === 0) return;
    this.#parts.log.warn('projector: leader stalled, session ended', {
      projections: keys,
      sessions: ended.length,
    });
  }
}
