/** Wakes one sleeper early. A ring between sleeps ends the next sleep at once. */
export class WakeSignal {
  #isRung = false;
  #wake: (() => void) | null = null;

  ring(): void {
    this.#isRung = true;
    this.#wake?.();
  }

  /** Resolves after `ms`, or as soon as a ring occurs; a ring since the last sleep counts. */
  async sleep(ms: number): Promise<void> {
    if (!this.#isRung && ms > 0) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms);
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
      this.#wake = null;
    }
    this.#isRung = false;
  }
}
