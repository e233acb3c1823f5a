/** The console: picks the view for the address and draws what is around it. */
import { ApiError, askForStepUpWith } from './api.js';
import { ask, closeDialogs } from './dialog.js';
import { h, icon } from './dom.js';
import { errorNotice, mayPass } from './error-notice.js';
import { AFTER_WRONG_TRIES, passwordField, textIn } from './fields.js';
import { foreign } from './foreign-text.js';
import { Names } from './names.js';
import { HOME, navigation, pageAt, viewAt } from './pages.js';
import { confirmPassword, signOut } from './routes.js';
import { session, watchIdle } from './session.js';
import { badLinkView, resetView, setupView, signInView } from './sign-in-views.js';
import { keepTimesTrue } from './times.js';

/**
 * @typedef {object} ViewContext
 * @property {Names} names
 * @property {AbortSignal} signal aborted when the view is left
 * @property {(news: string) => void} announce announces news to screen readers
 */
/** @typedef {import('./sign-in-views.js').View} View */

const PRODUCT = 'Mailbox Gateway';
const RETRY_MS = 5_000;

const main = part('main');
const bar = part('bar');
const news = part('news');

/** @type {AbortController} */
let showing = new AbortController();
/** @type {Names | null} */
let names = null;
/** Kind and token of a one-time link, removed from the address first. */
let link = takeLink();
/** @type {{ notice?: string, email?: string }} for the next sign-in view */
let signInAs = {};

/** @param {string} id */
function part(id) {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`there is no #${id}`);
  return found;
}

function takeLink() {
  const [, word, token] = /^#(setup|reset)=(.+)$/.exec(location.hash) ?? [];
  if (word === undefined || token === undefined) return null;
  history.replaceState(null, '', `${location.pathname}${location.search}${HOME}`);
  return { word, token: decodeURIComponent(token) };
}

/** Shows the view for the address, or the error that it throws. */
async function show() {
  showing.abort();
  closeDialogs();
  showing = new AbortController();
  const { signal } = showing;
  link = takeLink() ?? link;
  main.setAttribute('aria-busy', 'true');
  try {
    const view = await viewFor(signal);
    if (!signal.aborted) place(view);
  } catch (error) {
    if (signal.aborted) return;
    place(failure(error));
    if (mayPass(error)) retryLater(signal);
  } finally {
    if (!signal.aborted) main.removeAttribute('aria-busy');
  }
}

/**
 * @param {unknown} error
 * @returns {View}
 */
function failure(error) {
  const { label, route, next } = pageAt(location.hash);
  return {
    title: 'Something went wrong',
    content: [
      h('h1', { tabindex: -1 }, 'This cannot be shown'),
      errorNotice(error, { isRetried: true, next }),
      h(
        'p',
        { class: 'row' },
        h('button', { type: 'button', class: 'plain', on: { click: () => void show() } }, 'Try again'),
        h('a', { href: route }, `All ${label.toLowerCase()}`),
      ),
    ],
  };
}

/** @param {AbortSignal} signal of the view that could not be shown */
function retryLater(signal) {
  const timer = setTimeout(() => void show(), RETRY_MS);
  signal.addEventListener('abort', () => {
    clearTimeout(timer);
  });
}

/**
 * @param {AbortSignal} signal
 * @returns {Promise<View>}
 */
async function viewFor(signal) {
  if (link !== null) return await linkView(link);
  if (session.token === null) return signedOut();
  names ??= await Names.load();
  drawBar(names);
  return await viewAt({ names, signal, announce }, location.hash);
}

/** @param {{ word: string, token: string }} given */
async function linkView({ word, token }) {
  drawBar(null);
  const leave = () => {
    link = null;
    names = null;
    void show();
  };
  if (word === 'setup') return setupView({ token, onDone: leave });
  const onDone = (/** @type {string} */ email) => {
    session.forget();
    signInAs = { notice: 'Password set. Sign in with it.', email };
    leave();
  };
  try {
    return await resetView({ token, onDone });
  } catch (problem) {
    if (problem instanceof ApiError && problem.code === 'invalid_credentials')
      return badLinkView({ problem, onDone: leave });
    throw problem;
  }
}

/** The address stays, so that the person returns to the same page. */
function signedOut() {
  if (names !== null) {
    const notice = 'Your session has ended. Sign in to continue.';
    signInAs = { notice, email: names.session.user.email };
  }
  names = null;
  drawBar(null);
  const onDone = () => {
    signInAs = {};
    void show();
  };
  return signInView({ ...signInAs, onDone });
}

/** @param {View} view */
function place({ title, content }) {
  document.title = `${title} – ${PRODUCT}`;
  main.replaceChildren(h('div', { class: 'view' }, content));
  const field = [...main.querySelectorAll('input')].find(({ value }) => value === '');
  const heading = main.querySelector('h1');
  if (session.token === null && field) field.focus();
  else heading?.focus();
  scrollTo(0, 0);
}

/** @param {Names | null} whose */
function drawBar(whose) {
  const brand = h('a', { class: 'brand', href: HOME }, icon('m3 8.5 3.4 3.4L13 5'), h('span', null, PRODUCT));
  if (whose === null) {
    bar.replaceChildren(brand);
    return;
  }
  const { user, org } = whose.session;
  const out = h(
    'button',
    { type: 'button', class: 'plain', on: { click: () => void signOutByHand() } },
    'Sign out',
  );
  bar.replaceChildren(
    brand,
    navigation(whose, location.hash),
    h(
      'p',
      { class: 'who' },
      h('span', null, foreign(user.name)),
      h('span', { class: 'quiet' }, foreign(org.name)),
    ),
    out,
  );
}

/** Ends the session at the gateway and in this tab. */
async function leave() {
  try {
    await signOut();
  } catch (error) {
    // Forgotten here even when the gateway cannot be reached; there it expires.
    if (!(error instanceof ApiError)) throw error;
  }
  session.end();
}

function signOutByHand() {
  names = null;
  signInAs = {};
  history.replaceState(null, '', HOME);
  return leave();
}

/** @param {string} text */
function announce(text) {
  news.textContent = text;
}

/** Step-up: the password again, which confirms that a decision is the person's own. Asks until it is right. Throws `ApiError` when the person cancels. */
async function stepUp() {
  const isDone = await ask({
    title: 'Confirm it is you',
    content: [
      h('p', null, 'Enter your password again to confirm. You will not be asked for another 15 minutes.'),
      passwordField('password', 'Password', { autocomplete: 'current-password', autofocus: true }),
    ],
    confirm: 'Confirm',
    next: { invalid_credentials: `Type it again. ${AFTER_WRONG_TRIES}` },
    act: (form) => confirmPassword(textIn(form, 'password')),
  });
  if (!isDone) throw new ApiError('step_up_required', 'Nothing was done: your password was not confirmed.');
}

askForStepUpWith(stepUp);
keepTimesTrue();
session.whenEnded(() => void show());
watchIdle(() => {
  if (session.token !== null) void leave();
});
addEventListener('hashchange', () => void show());
part('skip').addEventListener('click', () => {
  main.focus();
});
void show();
