/** Keeps what a view shows up to date. */
import { ApiError } from './api.js';
import { errorNotice } from './error-notice.js';
import { session } from './session.js';

const REFRESH_MS = 4_000;
const FOLLOW_MS = 1_500;

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

/**
 * Looks until it is over or the signal is aborted, but not while the page is hidden. A failure is shown and tried again.
 * @param {() => Promise<boolean>} look resolves with whether it is over
 * @param {{ signal: AbortSignal, problem: HTMLElement }} place
 */
export function follow(look, { signal, problem }) {
  const turn = async () => {
    try {
      const isOver = document.visibilityState === 'visible' && (await look());
      problem.replaceChildren();
      if (isOver) return;
    } catch (error) {
      if (!signal.aborted) problem.replaceChildren(errorNotice(error, { role: null, isRetried: true }));
    }
    if (!signal.aborted) setTimeout(() => void turn(), FOLLOW_MS);
  };
  void turn();
}
