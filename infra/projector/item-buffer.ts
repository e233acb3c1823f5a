/** Reads a subscription ahead, so that whoever applies events takes as many at once as have arrived meanwhile. */
import type { SubscriptionItem } from '../../commands/ports/event-store.ts';

export class ItemBuffer {
  readonly #capacity: number;
  #items: SubscriptionItem[] = [];
  #ended = false;
  #failure: { readonly error: unknown } | null = null;
  #arrival = Promise.withResolvers<undefined>();
  #room = Promise.withResolvers<undefined>();

  constructor(source: AsyncIterable<SubscriptionItem>, capacity: number) {
    this.#capacity = capacity;
    this.#fill(source).then(
      () => {
        this.close();
      },
      (error: unknown) => {
        this.#failure = { error };
        this.close();
      },
    );
  }

  /**
   * At least one item and at most `most`; null when the subscription ended. `gather` is waited for while fewer are there:
   * the events of one request then share a batch. Throws what the subscription failed with.
   */
  async take(
    most: number,
    gather: () => Promise<void> = () => Promise.resolve(),
  ): Promise<readonly SubscriptionItem[] | null> {
    while (this.#items.length === 0) {
      if (this.#failure) throw this.#failure.error;
      if (this.#ended) return null;
      await this.#arrival.promise;
    }
    // What came in with the first item is handed over by the source within this turn of the event loop.
    await new Promise(setImmediate);
    if (this.#items.length < most && !this.#ended) await gather();
    const taken = this.#items.splice(0, most);
    this.#room.resolve(undefined);
    return taken;
  }

  /** Takes in nothing more; what is here can still be taken. */
  close(): void {
    this.#ended = true;
    this.#arrival.resolve(undefined);
    this.#room.resolve(undefined);
  }

  async #fill(source: AsyncIterable<SubscriptionItem>): Promise<void> {
    for await (const item of source) {
      if (this.#ended) return;
      this.#items.push(item);
      this.#arrival.resolve(undefined);
      this.#arrival = Promise.withResolvers();
      if (this.#items.length >= this.#capacity) {
        this.#room = Promise.withResolvers();
        await this.#room.promise;
      }
    }
  }
}
