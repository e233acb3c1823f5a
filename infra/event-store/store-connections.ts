/** Connections with room for one more call: a real server allows 100 per connection, and the one after those hangs. */
import type { Log } from '../../commands/ports/ports.ts';
import { StoreConnection } from './store-connection.ts';

/** Reads and subscriptions on one connection; the rest of the server's 100 is for whatever the client asks besides. */
export const MOST_CALLS_PER_CONNECTION = 80;

export class StoreConnections {
  readonly #open: () => StoreConnection;
  readonly #calls = new Map<StoreConnection, number>();
  readonly #discarded = new WeakSet<StoreConnection>();

  constructor(url: string, log: Log) {
    this.#open = () => new StoreConnection(url, log);
  }

  /** A connection with room for one more call; give it back with `release`. */
  acquire(): StoreConnection {
    const roomy = [...this.#calls].find(
      ([connection, calls]) => calls < MOST_CALLS_PER_CONNECTION && !this.#discarded.has(connection),
    )?.[0];
    const connection = roomy ?? this.#open();
    this.#calls.set(connection, (this.#calls.get(connection) ?? 0) + 1);
    return connection;
  }

  /** The connection failed: it is not handed out again, and ends with its last call. */
  discard(connection: StoreConnection): void {
    this.#discarded.add(connection);
  }

  release(connection: StoreConnection): void {
    const left = (this.#calls.get(connection) ?? 1) - 1;
    // One idle connection stays for the next call, the others go when they are empty.
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
