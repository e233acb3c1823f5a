/** One-time links: `#<word>=<token>`. The token leaves the address first. */
import { ApiError } from './api.js';
import { cardView } from './card.js';
import { h } from './dom.js';
import { errorNotice } from './error-notice.js';
import { ASK_AGAIN, inviteAcceptView } from './invite-accept-view.js';
import { foreignPlain } from './foreign-text.js';
import { HOME } from './pages.js';
import { session } from './session.js';
import { NEW_PASSWORD_LINK, resetView, setupView } from './sign-in-views.js';
import { verifyView } from './verify-view.js';

/** @typedef {import('./sign-in-views.js').View} View */
/** @typedef {import('./sign-in-views.js').Door} Door */

/**
 * @typedef {object} LinkKind
 * @property {string} title of the view when the link is invalid
 * @property {string} advice
 * @property {(token: string, door: Door) => View | Promise<View>} show
 */

/** @type {Readonly<Record<string, LinkKind>>} */
const KINDS = {
  setup: {
    title: 'Set up the gateway',
    advice: '',
    show: (token, { toSignIn }) => setupView({ token, onDone: () => { toSignIn({}); } }), // prettier-ignore
  },
  reset: {
    title: 'Choose a password',
    advice: NEW_PASSWORD_LINK,
    show: (token, { toSignIn }) =>
      resetView({
        token,
        onDone: (email) => {
          session.forget();
          toSignIn({ notice: 'Password set. Sign in with it.', email });
        },
      }),
  },
  verify: {
    title: 'Verify your address',
    advice: '',
    show: (token, { toSignIn }) =>
      verifyView({
        token,
        onDone: () => {
          toSignIn({ notice: 'Your address is verified. Sign in to continue.' });
        },
      }),
  },
  invite: {
    title: 'Accept an invite',
    advice: ASK_AGAIN,
    show: (token, { toSignIn }) =>
      inviteAcceptView({
        token,
        onDone: ({ email, org }) => {
          session.forget();
          toSignIn({
            notice: `You are a member of ${foreignPlain(org.name)} now. Sign in to continue.`,
            email,
          });
        },
      }),
  },
};

/** @typedef {{ kind: LinkKind, token: string }} Link */

/**
 * The link in the address, if there is one.
 * @returns {Link | null}
 */
export function takeLink() {
  const [, word = '', token] = /^#([a-z]+)=(.+)$/.exec(location.hash) ?? [];
  const kind = Object.hasOwn(KINDS, word) ? KINDS[word] : undefined;
  if (kind === undefined || token === undefined) return null;
  history.replaceState(null, '', `${location.pathname}${location.search}${HOME}`);
  return { kind, token: decodeURIComponent(token) };
}

/**
 * @param {Link} link
 * @param {Door} door
 * @returns {Promise<View>}
 */
export async function linkView({ kind, token }, door) {
  try {
    return await kind.show(token, door);
  } catch (problem) {
    if (problem instanceof ApiError && problem.code === 'invalid_credentials')
      return badLinkView(kind, problem, door);
    throw problem;
  }
}

/**
 * @param {LinkKind} kind
 * @param {ApiError} problem
 * @param {Door} door
 */
const badLinkView = ({ title, advice }, problem, { toSignIn }) =>
  cardView(
    title,
    errorNotice(problem, { next: { invalid_credentials: advice } }),
    h('button', { type: 'button', class: 'plain', on: { click: () => { toSignIn({}); } } }, 'Sign in'), // prettier-ignore
  );
