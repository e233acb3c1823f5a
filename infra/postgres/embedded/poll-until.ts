import { setTimeout as delay } from 'node:timers/promises';

/** Asks every `everyMs` until the answer is true; false when `timeoutMs` passed first. */
export async function pollUntil(
  condition: () => Promise<boolean>,
  everyMs: number,
  timeoutMs: number,
): Promise<boolean> {
  const deadline = Date.now() + timeoutMs;
  while (!(await condition())) {
    if (Date.now() >= deadline) return false;
    await delay(everyMs);
  }
  return true;
}
