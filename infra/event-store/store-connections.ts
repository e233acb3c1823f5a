/** Connections with capacity for one more call: a real server allows 100 per connection; call 101 hangs. */
import type { Log } from '../../commands/ports/ports.ts';
import { StoreConnection } from './store-connection.ts';

/** Calls on one connection; the rest of the server's 100 is for the client's other calls. */
export const MOST_CALLS_PER_CONNECTION = 80;

export class StoreConnections {
  readonly #open: () => StoreConnection;
  readonly #calls = new Map<StoreConnection, number>();
  readonly #discarded = new WeakSet<StoreConnection>();

  constructor(url: string, log: Log) {
    this.#open = () => new StoreConnection(url, log);
  }

  /** A connection with capacity for one more call; return it with `release`. */
  acquire(): StoreConnection {
    const roomy = [...this.#calls].find(
      ([connection, calls]) => calls < MOST_CALLS_PER_CONNECTION && !this.#discarded.has(connection),
    )?.[0];
    const connection = roomy ?? this.#open();
    this.#calls.set(connection, (this.#calls.get(connection) ?? 0) + 1);
    return connection;
  }

  /** Marks a failed connection: it is not reused, and closes with its last call. */
  discard(connection: StoreConnection): void {
    this.#discarded.add(connection);
  }

  release(connection: StoreConnection): void {
    const left = (this.#calls.get(connection) ?? 1) - 1;
    // One idle connection stays open for the next call; the others close.
    if (left > 0 || (this.#calls.size === 1 && !this.#discarded.has(connection))) {
      this.#calls.set(connection, left);
      return;
    }
    this.#calls.delete(connection);
    void connection.retire();
  }

  async close(): Promise<void> {
    await Promise.all([...this.#calls.keys()].map((connection) => connection.retire()));
  }
}
