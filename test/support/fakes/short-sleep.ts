/** The sleep of a rig's clock: a short one ends at once, a long one lasts until it is aborted. */
const LONG_MS = 1_000;

/** A wait between two attempts ends at the next turn; a time limit never expires. */
export const shortSleep = (milliseconds: number, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (milliseconds < LONG_MS) setImmediate(resolve);
    else
      signal?.addEventListener('abort', () => {
        resolve();
      });
  });
