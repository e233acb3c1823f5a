/** Watches a raw subscription of the client, writing down everything it says in order. */
import { once } from 'node:events';
import type { AllStreamSubscription, StreamSubscription } from '@eventstore/db-client';

export class SubscriptionWatch {
  /** `confirmed`, `caught-up`, `error:<type>` or the `n` of an event's data. */
  readonly said: (string | number)[] = [];
  readonly #subscription: AllStreamSubscription | StreamSubscription;

  constructor(subscription: AllStreamSubscription | StreamSubscription) {
    this.#subscription = subscription;
    subscription.on('confirmation', () => this.said.push('confirmed'));
    subscription.on('caughtUp', () => this.said.push('caught-up'));
    subscription.on('error', (error: Error & { type?: string }) => {
      this.said.push(`error:${String(error.type)}`);
    });
    subscription.on('data', ({ event }: { event?: { data: unknown; type: string } }) => {
      const n =
        event && typeof event.data === 'object' ? (event.data as { n?: number } | null)?.n : undefined;
      this.said.push(n ?? event?.type ?? 'nothing');
    });
  }

  /** Waits until it has said so many things, or the given one. */
  async until(wanted: number | string, timeoutMs = 15_000): Promise<(string | number)[]> {
    const signal = AbortSignal.timeout(timeoutMs);
    const done = (): boolean =>
      typeof wanted === 'number' ? this.said.length >= wanted : this.said.includes(wanted);
    while (!done()) await this.#next(signal);
    return this.said;
  }

  async #next(signal: AbortSignal): Promise<void> {
    const stop = new AbortController();
    const either = AbortSignal.any([signal, stop.signal]);
    try {
      await Promise.race(
        ['data', 'caughtUp', 'error', 'confirmation'].map((name) =>
          once(this.#subscription, name, { signal: either }).catch((error: unknown) => {
            if (signal.aborted) throw new Error(`waited in vain; it said ${JSON.stringify(this.said)}`);
            if (!(error instanceof Error)) throw error;
          }),
        ),
      );
    } finally {
      stop.abort();
    }
  }

  async end(): Promise<void> {
    await this.#subscription.unsubscribe();
  }
}
