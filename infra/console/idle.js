/** A person who is gone: what the page asks by itself would keep a session awake that nobody uses (`contract.md` 2: idle 30 min). */

const IDLE_MS = 30 * 60_000;
const LOOK_MS = 15_000;
const SIGNS = ['keydown', 'pointerdown', 'pointermove', 'wheel', 'touchstart'];

/** @param {() => void} onIdle called once after each half hour without a sign of the person */
export function watchIdle(onIdle) {
  let lastSignAt = Date.now();
  for (const sign of SIGNS) {
    addEventListener(sign, () => (lastSignAt = Date.now()), { passive: true, capture: true });
  }
  setInterval(() => {
    if (Date.now() - lastSignAt < IDLE_MS) return;
    lastSignAt = Date.now();
    onIdle();
  }, LOOK_MS);
}
