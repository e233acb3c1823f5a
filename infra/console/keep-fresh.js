/** Keeps what a view shows up to date. */
import { ApiError } from './api.js';
import { errorNotice } from './error-notice.js';
import { session } from './session.js';

const REFRESH_MS = 4_000;

/**
 * Polls until the view is left, but not while the page is hidden unless asked to; immediately when it becomes visible. A
 * failure is shown in `problem` and tried again; the first refusal for want of a right shows what the person may see now.
 * @param {AbortSignal} signal
 * @param {HTMLElement} problem
 * @param {() => Promise<void>} refresh
 * @param {{ atOnce?: boolean, alsoHidden?: boolean }} [options]
 */
export function keepFresh(signal, problem, refresh, { atOnce = false, alsoHidden = false } = {}) {
  const refreshQuietly = async () => {
    try {
      await refresh();
      problem.replaceChildren();
    } catch (error) {
      if (signal.aborted) return;
      problem.replaceChildren(errorNotice(error, { role: null, isRetried: true }));
      if (error instanceof ApiError && error.code === 'insufficient_scope') session.changed();
    }
  };
  const poll = () => {
    if (alsoHidden || document.visibilityState === 'visible') void refreshQuietly();
  };
  if (atOnce) poll();
  const timer = setInterval(poll, REFRESH_MS);
  document.addEventListener('visibilitychange', poll, { signal });
  signal.addEventListener('abort', () => {
    clearInterval(timer);
  });
}
