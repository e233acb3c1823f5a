/** Times as people say them; the exact one stands in the element. */
import { h } from './dom.js';

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

const exact = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
const nearby = new Intl.DateTimeFormat(undefined, {
  month: 'short',
  day: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
});

/**
 * How much time that is, in its two largest units: `1 d 4 h`, `23 h 5 min`, `42 s`.
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

/** @param {string} instant */
function ago(instant) {
  const past = Date.now() - Date.parse(instant);
  if (past < MINUTE_MS) return 'just now';
  if (past < HOUR_MS) return `${String(Math.floor(past / MINUTE_MS))} min ago`;
  return past < DAY_MS ? `${String(Math.floor(past / HOUR_MS))} h ago` : nearby.format(new Date(instant));
}

/**
 * When something happened.
 * @param {string} instant RFC 3339
 */
export const pastTime = (instant) =>
  h('time', { datetime: instant, title: exact.format(new Date(instant)) }, ago(instant));

/**
 * The exact moment.
 * @param {string} instant RFC 3339
 */
export const exactTime = (instant) => h('time', { datetime: instant }, exact.format(new Date(instant)));

/**
 * Time that runs out, counted down once a second while it is in the page; `onEnd` is called when it is over.
 * @param {string} instant RFC 3339
 * @param {(() => void)} [onEnd]
 */
export function countdown(instant, onEnd) {
  const until = Date.parse(instant);
  const element = h('time', {
    datetime: instant,
    title: exact.format(until),
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
