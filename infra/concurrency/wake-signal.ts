/** Wakes one sleeper early. A ring between sleeps ends the next sleep at once. */
export class WakeSignal {
  #isRung = false;
  #wake: (() => void) | null = null;

  ring(): void {
    this.#isRung = true;
    this.#wake?.();
  }

  /**
   * Resolves after this many milliseconds or when the signal aborts, or as soon as a ring occurs; a ring since
   * the last sleep counts.
   */
  async sleep(until: number | AbortSignal): Promise<void> {
    const signal = typeof until === 'object' ? until : undefined;
    if (!this.#isRung && signal?.aborted !== true && !(typeof until === 'number' && until <= 0)) {
      await new Promise<void>((resolve) => {
        const wake = (): void => {
          clearTimeout(timer);
          signal?.removeEventListener('abort', wake);
          resolve();
        };
        const timer = typeof until === 'number' ? setTimeout(wake, until) : undefined;
        signal?.addEventListener('abort', wake, { once: true });
        this.#wake = wake;
      });
      this.#wake = null;
    }
    this.#isRung = false;
  }
}
