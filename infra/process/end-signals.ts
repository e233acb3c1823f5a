/** Why a process should end: a signal, or the end of the npm that started it. */

const PARENT_CHECK_MS = 500;

/**
 * Resolves when the process is asked to end: SIGINT, SIGTERM, SIGHUP, or the end of its parent. An npm that
 * was killed cannot forward a signal; its gateway would keep port and data folder.
 */
export function endRequested(): Promise<string> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      process.on(signal, () => {
        resolve(signal);
      });
    }
    if (process.env['npm_lifecycle_event'] === undefined) return;
    const parent = process.ppid;
    const timer = setInterval(() => {
      if (process.ppid === parent) return;
      clearInterval(timer);
      resolve('parent gone');
    }, PARENT_CHECK_MS);
    timer.unref();
  });
}
