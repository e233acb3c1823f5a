/**
 * `work.worker_heartbeat`: records about once a second, in the database's time, that this process is alive. A killed or hanging
 * process falls silent, and one that wakes from a pause gets a new life: its earlier attestations are void until it has
 * polled again.
 */
import type { Sql } from '../../commands/ports/ports.ts';

/** Commits without waiting for the disk: a beat lost in a crash of the database is one that stopped early. */
const WITHOUT_FLUSH = "set_config('synchronous_commit', 'off', true)";

const BEAT = `
  insert into work.worker_heartbeat as own (run_id, life, until)
  select $1, gen_random_uuid(), now() + $2 * interval '1 millisecond' from ${WITHOUT_FLUSH}
  on conflict (run_id) do update set until = excluded.until,
    life = case when own.until > now() then own.life else excluded.life end
  returning life, array(
    select run_id from work.lease where starts_with(name, $3) and until > now() and run_id <> $1 order by run_id) as others`;

/** A lease with this prefix marks a process that takes its share of the mailboxes. */
export const PROCESS = 'mail-worker/';

/** Expired rows of other processes are deleted too: a process that wakes gets a new life either way. */
const END = 'delete from work.worker_heartbeat where run_id = $1 or until <= now()';

/** An attestation names the life that the process had before the poll. */
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

  /** As the database last returned it; null before the first beat. */
  get life(): Life | null {
    return this.#life;
  }

  /**
   * Returns the other processes that work on mail now. Throws `store_unavailable`: `lastsMs` after the last beat, attestations
   * of this process are void.
   */
  async beat(): Promise<readonly string[]> {
    const parameters = [this.#runId, this.#lastsMs, PROCESS];
    const [row] = await this.#sql.query<{ life: Life; others: readonly string[] }>(BEAT, parameters);
    this.#life = row?.life ?? null;
    return row?.others ?? [];
  }

  /** Stops at once. Throws `store_unavailable`. */
  async end(): Promise<void> {
    this.#life = null;
    await this.#sql.query(END, [this.#runId]);
  }
}
