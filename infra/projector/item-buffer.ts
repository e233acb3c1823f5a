/** Reads ahead of the consumer, so that it takes all items that have arrived meanwhile as one batch. */
import type { SubscriptionItem } from '../../commands/ports/event-store.ts';

export class ItemBuffer {
  readonly #capacity: number;
  #items: SubscriptionItem[] = [];
  #ended = false;
  #failure: { readonly error: unknown } | null = null;
  #arrival = Promise.withResolvers<undefined>();
  #room = Promise.withResolvers<undefined>();
  /** Ends a pause in which more is gathered. */
  #endPause: () => void = () => undefined;

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
   * Returns at least one item and at most `most`; null when the subscription ended. Awaits `gather` while
   * fewer are available and none of them `isPrompt`, so that the events of one request share a batch. Throws
   * the error of the subscription.
   */
  async take(
    most: number,
    gather: () => Promise<void> = () => Promise.resolve(),
    isPrompt: (item: SubscriptionItem) => boolean = () => false,
  ): Promise<readonly SubscriptionItem[] | null> {
    while (this.#items.length === 0) {
      if (this.#failure) throw this.#failure.error;
      if (this.#ended) return null;
      await this.#arrival.promise;
    }
    // The source delivers what arrived with the first item within this turn of the event loop.
    await new Promise(setImmediate);
    const isFull = (): boolean => this.#ended || this.#items.length >= most;
    if (!isFull() && !this.#items.some(isPrompt)) {
      const isOver = (): boolean => isFull() || this.#items.slice(-1).some(isPrompt);
      await Promise.race([gather(), this.#until(isOver)]);
    }
    const taken = this.#items.splice(0, most);
    this.#room.resolve(undefined);
    return taken;
  }

  /** Resolves at an arrival after which `isOver`, or at the end. */
  #until(isOver: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      this.#endPause = () => {
        if (isOver()) resolve();
      };
    });
  }

  /** Accepts no more items; buffered ones can still be taken. */
  close(): void {
    this.#ended = true;
    this.#arrival.resolve(undefined);
    this.#room.resolve(undefined);
    this.#endPause();
  }

  async #fill(source: AsyncIterable<SubscriptionItem>): Promise<void> {
    for await (const item of source) {
      if (this.#ended) return;
      this.#items.push(item);
      this.#arrival.resolve(undefined);
      this.#arrival = Promise.withResolvers();
      this.#endPause();
      if (this.#items.length >= this.#capacity) {
        this.#room = Promise.withResolvers();
        await this.#room.promise;
      }
    }
  }
}
