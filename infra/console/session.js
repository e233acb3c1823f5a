/** The person's session: its bearer lives in memory and in this tab's sessionStorage, never in a cookie (`contract.md` 18). */

const KEY = 'mailbox-gateway.session';

/** @type {string | null} */
let token = null;
/** @type {() => void} */
let onEnd = () => undefined;

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
  /** Forgets the bearer and tells whoever shows the page. */
  end() {
    session.forget();
    onEnd();
  },
  /** @param {() => void} listener */
  whenEnded(listener) {
    onEnd = listener;
  },
};
