/** The person's session: its bearer lives in memory and in this tab's sessionStorage, never in a cookie (`contract.md` 18). */

const KEY = 'mailbox-gateway.session';

/** @type {string | null} */
let token = null;
/** @type {() => void} */
let onEnd = () => undefined;
/** @type {() => void} */
let onChange = () => undefined;

export const session = {
  /** @returns {string | null} */
  get token() {
    token ??= sessionStorage.getItem(KEY);
    return token;
  },
  /** @param {string} bearer */
  begin(bearer) {
    token = bearer;
    sessionStorage.setItem(KEY, bearer);
  },
  /** Forgets the bearer. */
  forget() {
    token = null;
    sessionStorage.removeItem(KEY);
  },
  /** Forgets the bearer and calls the listener. */
  end() {
    session.forget();
    onEnd();
  },
  /** @param {() => void} listener */
  whenEnded(listener) {
    onEnd = listener;
  },
  /** The rights of the person have changed: calls the listener. */
  changed() {
    onChange();
  },
  /** @param {() => void} listener */
  whenChanged(listener) {
    onChange = listener;
  },
};

const IDLE_MS = 30 * 60_000;
const CHECK_EVERY_MS = 15_000;
const INPUTS = ['keydown', 'pointerdown', 'pointermove', 'wheel', 'touchstart'];

/**
 * Ends the session of an idle person, which the page's own polling would keep alive (`contract.md` 2: idle 30 min).
 * @param {() => void} onIdle called after each half hour without input
 */
export function watchIdle(onIdle) {
  let lastInputAt = Date.now();
  for (const input of INPUTS) {
    addEventListener(input, () => (lastInputAt = Date.now()), { passive: true, capture: true });
  }
  setInterval(() => {
    if (Date.now() - lastInputAt < IDLE_MS) return;
    lastInputAt = Date.now();
    onIdle();
  }, CHECK_EVERY_MS);
}
