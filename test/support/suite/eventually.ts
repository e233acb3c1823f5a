import { systemClock } from '../../../infra/platform/system-clock.ts';

/** Polls until the condition holds. Throws after `withinMs`, which has room for a machine with other work. */
export async function eventually(
  condition: () => boolean | Promise<boolean>,
  withinMs = 20_000,
): Promise<void> {
  const deadline = performance.now() + withinMs;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error('It did not happen in time.');
    await systemClock.sleep(10);
  }
}
