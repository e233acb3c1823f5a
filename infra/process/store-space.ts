/**
 * Whether the stores have space. After a write fails for lack of space this process is not ready, until a
 * probe write succeeds.
 */
import type { Log, Sql } from '../../commands/ports/ports.ts';
import { SingleFlight } from '../concurrency/single-flight.ts';
import { DiskFull } from '../platform/disk-full.ts';

/**
 * A megabyte in new pages: writes to existing pages succeed even on a full disk. The table is dropped with
 * its transaction.
 */
const PROBE = `create temp table space_probe on commit drop as
  select repeat(md5(i::text), 30) as filler from generate_series(1, 1000) as i`;

export interface StoreSpaceOptions {
  /** Receives the probe writes. */
  readonly sql: Sql;
  readonly log: Log;
}

export class StoreSpace {
  /** The database port of the process; this class observes its failures. */
  readonly sql: Sql;
  readonly #options: StoreSpaceOptions;
  #isFull = false;
  readonly #probes = new SingleFlight<void>();

  constructor(options: StoreSpaceOptions) {
    this.#options = options;
    const { sql } = options;
    this.sql = {
      query: (text, parameters) => this.#watch(sql.query(text, parameters)),
      transaction: (work) => this.#watch(sql.transaction(work)),
    };
  }

  /** Records that a write found no space. Logged once per outage. */
  readonly noteFull = (error: DiskFull): void => {
    if (this.#isFull) return;
    this.#isFull = true;
    this.#options.log.error('store space: exhausted, writes fail', {
      error: String(error.cause),
    });
  };

  /** Throws `DiskFull` while writes find no space, and any other failure of the database. */
  async check(): Promise<void> {
    if (!this.#isFull) return;
    await this.#probes.join('space', () => this.#ask());
  }

  /** True while writes find no space. */
  async isFull(): Promise<boolean> {
    await this.check().catch((error: unknown) => {
      if (!(error instanceof DiskFull)) throw error;
    });
    return this.#isFull;
  }

  async #ask(): Promise<void> {
    await this.#options.sql.transaction((inside) => inside.query(PROBE));
    this.#isFull = false;
    this.#options.log.info('store space: available again');
  }

  async #watch<T>(asked: Promise<T>): Promise<T> {
    try {
      return await asked;
    } catch (error) {
      if (error instanceof DiskFull) this.noteFull(error);
      throw error;
    }
  }
}
