/** A clock whose waits end only when the test ends them. */
import type { Clock } from '../../../commands/ports/ports.ts';

export class HeldSleeps {
  readonly #waits: { readonly milliseconds: number; readonly end: () => void }[] = [];

  /** Replaces the clock's own `sleep`. */
  constructor(clock: Clock) {
    clock.sleep = (milliseconds) =>
      new Promise((resolve) => {
        this.#waits.push({ milliseconds, end: resolve });
      });
  }

  /** Ends every wait of that length begun so far. */
  end(milliseconds: number): void {
    for (const wait of this.#waits) if (wait.milliseconds === milliseconds) wait.end();
  }
}

/** A gate where work stops until it is released; `reached` resolves when work arrives. */
export class Gate {
  readonly #open = Promise.withResolvers<undefined>();
  readonly #reached = Promise.withResolvers<undefined>();
  readonly reached = this.#reached.promise;

  async pass(): Promise<void> {
    this.#reached.resolve(undefined);
    await this.#open.promise;
  }

  letGo(): void {
    this.#open.resolve(undefined);
  }
}
