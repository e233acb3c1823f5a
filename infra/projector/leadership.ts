/**
 * Who leads a projection. After a network partition two processes may believe to lead for a while; the
 * compare-and-set of the checkpoints decides.
 */
import type pg from 'pg';
import { endConnection } from '../postgres/direct-connection.ts';
import { lockNumber } from './projection-tables.ts';
import type { Clock, Log, Sql } from '../../commands/ports/ports.ts';
import type { Position } from '../../commands/values/position.ts';
import type { ModelLag } from './lag.ts';

/** Leadership by session-level advisory locks on a dedicated connection. They vanish with the process. */
export class LeaderLocks {
  readonly #client: pg.Client;
  readonly #held = new Set<string>();
  readonly #end = new AbortController();

  private constructor(client: pg.Client) {
    this.#client = client;
    const ended = (): void => {
      this.#end.abort();
    };
    client.on('error', ended);
    client.on('end', ended);
  }

  /** Throws the error of the connection. */
  static async open(connect: () => Promise<pg.Client>): Promise<LeaderLocks> {
    const client = await connect();
    const locks = new LeaderLocks(client);
    // Detects a holder whose machine vanished within seconds, not after the system's two hours.
    await client.query(
      'set tcp_keepalives_idle = 5; set tcp_keepalives_interval = 2; set tcp_keepalives_count = 3',
    );
    return locks;
  }

  /** Aborts when the connection is lost, and with it every lock. */
  get lost(): AbortSignal {
    return this.#end.signal;
  }

  /** Takes every free lock; returns all held ones. Throws when the connection is lost. */
  async take(keys: readonly string[]): Promise<readonly string[]> {
    if (this.lost.aborted) throw new Error('the connection of the leader locks was lost');
    const missing = keys.filter((key) => !this.#held.has(key));
    // Also when none is missing: it shows whether the connection answers.
    const { rows } = await this.#client.query<{ key: string; mine: boolean }>(
      `select key, pg_try_advisory_lock(number) as mine from unnest($1::text[], $2::bigint[]) as wanted(key, number)`,
      [missing, missing.map(lockNumber)],
    );
    for (const { key, mine } of rows) if (mine) this.#held.add(key);
    return keys.filter((key) => this.#held.has(key));
  }

  /** Ends the session and with it every lock. */
  async close(): Promise<void> {
    await endConnection(this.#client);
  }
}

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

/**
 * A frozen leader keeps its Postgres session and with it the locks of its projections. Followers detect
 * events that wait at a checkpoint that does not move, and end the sessions that block it. Safe if wrong: a
 * leader that was only slow loses its lock and tries again.
 */
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
