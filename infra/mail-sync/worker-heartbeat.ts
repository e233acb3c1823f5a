/**
 * `work.worker_heartbeat`: says every second that this process is alive, in the database's time. A process that is killed or
 * hangs falls silent, and one that wakes from a pause has another life: what it vouched for before counts for nothing until it
 * has looked again.
 */
import type { Sql } from '../../commands/ports/ports.ts';

/** Commits without waiting for the disk: a beat that a crash of the database forgets is one that stopped early. */
const WITHOUT_FLUSH = "set_config('synchronous_commit', 'off', true)";

const BEAT = `
  insert into work.worker_heartbeat as own (run_id, life, until)
  select $1, gen_random_uuid(), now() + $2 * interval '1 millisecond' from ${WITHOUT_FLUSH}
  on conflict (run_id) do update set until = excluded.until,
    life = case when own.until > now() then own.life else excluded.life end
  returning life`;

/** Those of others that stopped go too: who wakes again begins a new life either way. */
const END = 'delete from work.worker_heartbeat where run_id = $1 or until <= now()';

/** What a vouch is given under: the life the process had before it looked. */
export type Life = string;

export class WorkerHeartbeat {
  readonly #sql: Sql;
  readonly #runId: string;
  readonly #lastsMs: number;
  #life: Life | null = null;

  /** Each beat lasts `lastsMs`. */
  constructor(sql: Sql, runId: string, lastsMs: number) {
    this.#sql = sql;
    this.#runId = runId;
    this.#lastsMs = lastsMs;
  }

  /** As the database last said; null before the first beat. */
  get life(): Life | null {
    return this.#life;
  }

  /** Throws `store_unavailable`: after `lastsMs` without a beat nobody believes this process. */
  async beat(): Promise<void> {
    const [row] = await this.#sql.query<{ life: Life }>(BEAT, [this.#runId, this.#lastsMs]);
    this.#life = row?.life ?? null;
  }

  /** Stops at once. Throws `store_unavailable`. */
  async end(): Promise<void> {
    this.#life = null;
    await this.#sql.query(END, [this.#runId]);
  }
}
