import { setTimeout as delay } from 'node:timers/promises';

/** Evaluates the condition every `everyMs` until it is true; returns false when `timeoutMs` passed first. */
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
