/**
 * Leadership by session-level advisory locks on a dedicated connection. They vanish with the process. After a
 * network partition two processes may believe to lead for a while; the compare-and-set of the checkpoints
 * decides.
 */
import type pg from 'pg';
import { endConnection } from '../postgres/direct-connection.ts';
import { lockNumber } from './projection-tables.ts';

export class LeaderLocks {
  readonly #client: pg.Client;
  readonly #held = new Set<string>();
  #ended = false;

  private constructor(client: pg.Client) {
    this.#client = client;
    client.on('error', () => {
      this.#ended = true;
    });
    client.on('end', () => {
      this.#ended = true;
    });
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

  /** Takes every free lock; returns all held ones. Throws when the connection is lost. */
  async take(keys: readonly string[]): Promise<readonly string[]> {
    if (this.#ended) throw new Error('the connection of the leader locks was lost');
    await this.#client.query('select 1');
    for (const key of keys) {
      if (this.#held.has(key)) continue;
      const { rows } = await this.#client.query<{ mine: boolean }>(
        'select pg_try_advisory_lock($1::bigint) as mine',
        [lockNumber(key)],
      );
      if (rows[0]?.mine === true) this.#held.add(key);
    }
    return keys.filter((key) => this.#held.has(key));
  }

  /** Ends the session and with it every lock. */
  async close(): Promise<void> {
    await endConnection(this.#client);
  }
}
