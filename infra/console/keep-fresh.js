/** Keeps what a view shows up to date. */
import { errorNotice } from './error-notice.js';

const REFRESH_MS = 4_000;

/**
 * Polls until the view is left, but not while the page is hidden; immediately when it becomes visible. A failure is shown in
 * `problem` and tried again.
 * @param {AbortSignal} signal
 * @param {HTMLElement} problem
 * @param {() => Promise<void>} refresh
 */
export function keepFresh(signal, problem, refresh) {
  const refreshQuietly = async () => {
    try {
      await refresh();
      problem.replaceChildren();
    } catch (error) {
      if (!signal.aborted) problem.replaceChildren(errorNotice(error, { role: null, isRetried: true }));
    }
  };
  const poll = () => {
    if (document.visibilityState === 'visible') void refreshQuietly();
  };
  const timer = setInterval(poll, REFRESH_MS);
  document.addEventListener('visibilitychange', poll, { signal });
  signal.addEventListener('abort', () => {
    clearInterval(timer);
  });
}
