/**
 * Whether the stores have room. A write that fails for want of it tells; from then on this process is not ready, until a
 * write of its own finds room again.
 */
import type { Log, Sql } from '../../commands/ports/ports.ts';
import { SingleFlight } from '../concurrency/single-flight.ts';
import { DiskFull } from '../platform/disk-full.ts';

/** A megabyte in new pages: what is written over old ones finds room on a full disk, too. Gone with its transaction. */
const PROBE = `create temp table space_probe on commit drop as
  select repeat(md5(i::text), 30) as filler from generate_series(1, 1000) as i`;

export interface StoreSpaceOptions {
  /** Asked with a write of its own. */
  readonly sql: Sql;
  readonly log: Log;
}

export class StoreSpace {
  /** The database port of the process; its failures are seen here. */
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

  /** A write found no room; the log is told once for each time that this begins. */
  readonly noteFull = (error: DiskFull): void => {
    if (this.#isFull) return;
    this.#isFull = true;
    this.#options.log.error('store space: exhausted, writes fail', {
      error: String(error.cause),
    });
  };

  /** Throws `NoSpaceLeft` while writes find no room, and what else keeps the database from answering. */
  async check(): Promise<void> {
    if (!this.#isFull) return;
    await this.#probes.join('space', () => this.#ask());
  }

  /** True while writes find no room. */
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
