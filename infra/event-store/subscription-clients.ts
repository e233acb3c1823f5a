/** Clients for subscriptions only: a real server allows 100 calls per channel, and the one after those hangs. */
import { EventStoreDBClient } from '@eventstore/db-client';

const MOST_PER_CLIENT = 80;

export class SubscriptionClients {
  readonly #url: string;
  readonly #open = new Map<EventStoreDBClient, number>();

  constructor(url: string) {
    this.#url = url;
  }

  /** A client with room for one more subscription; give it back with `release`. */
  acquire(): EventStoreDBClient {
    const roomy = [...this.#open].find(([, count]) => count < MOST_PER_CLIENT)?.[0];
    const client = roomy ?? EventStoreDBClient.connectionString(this.#url);
    this.#open.set(client, (this.#open.get(client) ?? 0) + 1);
    return client;
  }

  release(client: EventStoreDBClient): void {
    const left = (this.#open.get(client) ?? 1) - 1;
    // The first client stays for the next subscription, the others go when they are empty.
    if (left > 0 || this.#open.size === 1) this.#open.set(client, left);
    else this.#open.delete(client);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open.keys()].map((client) => client.dispose()));
  }
}
