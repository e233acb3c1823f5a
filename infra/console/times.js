/** Times in one format, with their zone. Recent ones are relative, with the exact time in the title. */
import { h } from './dom.js';

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** How often relative times are redrawn. */
const REDRAW_MS = 5 * SECOND_MS;

/**
 * `2026-11-22 10:49:10 UTC`, as in previews.
 * @param {string} instant RFC 3339
 */
export const exactText = (instant) => `${new Date(instant).toISOString().slice(0, 19).replace('T', ' ')} UTC`;

/**
 * A duration in its two largest units: `1 d 4 h`, `23 h 5 min`, `42 s`.
 * @param {number} ms
 */
export function duration(ms) {
  const left = Math.max(0, ms);
  const whole = (/** @type {number} */ unit) => Math.floor(left / unit);
  if (left >= DAY_MS) return `${String(whole(DAY_MS))} d ${String(whole(HOUR_MS) % 24)} h`;
  if (left >= HOUR_MS) return `${String(whole(HOUR_MS))} h ${String(whole(MINUTE_MS) % 60)} min`;
  if (left >= 10 * MINUTE_MS) return `${String(whole(MINUTE_MS))} min`;
  if (left >= MINUTE_MS) return `${String(whole(MINUTE_MS))} min ${String(whole(SECOND_MS) % 60)} s`;
  return `${String(whole(SECOND_MS))} s`;
}

/** @type {readonly (readonly [seconds: number, one: string, several: string])[]} */
const UNITS = [
  [86_400, 'one day', 'days'],
  [3_600, 'one hour', 'hours'],
  [60, 'one minute', 'minutes'],
  [1, 'one second', 'seconds'],
];

/**
 * A span in words, in the largest unit it is whole in: `one hour`, `90 minutes`.
 * @param {number} seconds a whole number above 0
 */
export function spanText(seconds) {
  const [size, one, several] = UNITS.find(([unit]) => seconds % unit === 0) ?? [1, 'one second', 'seconds'];
  return seconds === size ? one : `${String(seconds / size)} ${several}`;
}

/** @param {string} instant */
function ago(instant) {
  const past = Date.now() - Date.parse(instant);
  if (past < MINUTE_MS) return 'just now';
  if (past < HOUR_MS) return `${String(Math.floor(past / MINUTE_MS))} min ago`;
  return past < DAY_MS ? `${String(Math.floor(past / HOUR_MS))} h ago` : exactText(instant);
}

/**
 * A relative time, which `keepTimesTrue` keeps current.
 * @param {string} instant RFC 3339
 */
export const pastTime = (instant) =>
  h('time', { datetime: instant, title: exactText(instant), class: 'ago' }, ago(instant));

/** Redraws all relative times on the page. */
export function keepTimesTrue() {
  setInterval(() => {
    for (const element of document.querySelectorAll('time')) {
      if (element.classList.contains('ago')) element.textContent = ago(element.dateTime);
    }
  }, REDRAW_MS);
}

/**
 * The exact moment.
 * @param {string} instant RFC 3339
 */
export const exactTime = (instant) => h('time', { datetime: instant }, exactText(instant));

/**
 * A countdown, redrawn every second while it is in the page; `onEnd` is called at its end.
 * @param {string} instant RFC 3339
 * @param {(() => void)} [onEnd]
 */
export function countdown(instant, onEnd) {
  const until = Date.parse(instant);
  const element = h('time', {
    datetime: instant,
    title: exactText(instant),
    class: 'countdown',
    role: 'timer',
    'aria-live': 'off',
  });
  const isOver = () => {
    const left = until - Date.now();
    element.textContent = duration(left);
    element.classList.toggle('soon', left < HOUR_MS);
    return left <= 0;
  };
  if (isOver()) return element;
  const timer = setInterval(() => {
    if (!element.isConnected) clearInterval(timer);
    else if (isOver()) {
      clearInterval(timer);
      onEnd?.();
    }
  }, SECOND_MS);
  return element;
}
