/** What a rig's clock makes of a pause: a short one takes none of the test's time, a long one lasts until it is given up. */
const LONG_MS = 1_000;

/** A wait between two tries is over at the next turn; a time limit never comes. */
export const shortSleep = (milliseconds: number, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (milliseconds < LONG_MS) setImmediate(resolve);
    else
      signal?.addEventListener('abort', () => {
        resolve();
      });
  });
