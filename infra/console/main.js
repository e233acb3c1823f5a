/** The console: picks the view for the address and draws what is around it. */
import { ApiError, askForStepUpWith } from './api.js';
import { isConnecting } from './connect-view.js';
import { ask, closeDialogs } from './dialog.js';
import { h } from './dom.js';
import { doorAt } from './doors.js';
import { errorNotice, mayPass } from './error-notice.js';
import { AFTER_WRONG_TRIES, passwordField, textIn } from './fields.js';
import { headerBefore, headerOf, headerOfDeleted } from './header.js';
import { follow } from './keep-fresh.js';
import { linkView, takeLink } from './links.js';
import { Names } from './names.js';
import { deletedOrganisationView } from './organisation-deleted-view.js';
import { HOME, isHome, pageAt, viewAt } from './pages.js';
import { readMe } from './people-routes.js';
import { confirmPassword, endThisSession, readSession } from './routes.js';
import { session, watchIdle } from './session.js';
import { signInView } from './sign-in-views.js';
import { keepTimesTrue } from './times.js';
import { verifiedNotice } from './verified-notice.js';
import { countWaiting, setTitle } from './waiting.js';

/**
 * @typedef {object} ViewContext
 * @property {Names} names
 * @property {AbortSignal} signal aborted when the view is left
 * @property {(news: string) => void} announce announces news to screen readers
 * @property {() => void} reload shows the address again, with what the gateway says of the person now
 * @property {(notice: string) => void} leave forgets the session, which has ended, and says why; called within the act of a
 *   question, because a poll may learn of the end first and close the question
 */
/** @typedef {import('./sign-in-views.js').View} View */

const PRODUCT = 'Mailbox Gateway';
const RETRY_MS = 5_000;

const main = part('main');
const bar = part('bar');
const news = part('news');

/** @type {AbortController} */
let showing = new AbortController();
/** Aborted when the names are forgotten. */
let knowing = new AbortController();
/** @type {Names | null} */
let names = null;
/** A one-time link, removed from the address first. */
let link = takeLink();
/** @type {import('./sign-in-views.js').SignInAs} for the next sign-in view */
let signInAs = {};

/** @param {string} id */
function part(id) {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`there is no #${id}`);
  return found;
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
  const { label, back = `All ${label.toLowerCase()}`, route, next } = pageAt(location.hash, names);
  return {
    title: 'Something went wrong',
    content: [
      h('h1', { tabindex: -1 }, 'This cannot be shown'),
      errorNotice(error, { isRetried: true, next }),
      h(
        'p',
        { class: 'row' },
        h('button', { type: 'button', class: 'plain', on: { click: () => void show() } }, 'Try again'),
        h('a', { href: route }, back),
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
  if (link !== null) {
    bar.replaceChildren(...headerBefore());
    return await linkView(link, { toSignIn });
  }
  if (session.token === null) return signedOut();
  if (doorAt(location.hash) !== null) history.replaceState(null, '', HOME);
  const areNew = names === null;
  try {
    names ??= await learnNames();
  } catch (error) {
    if (hasCode(error, 'conflict')) return await ofDeleted();
    throw error;
  }
  drawBar(names);
  try {
    return await viewAt({ names, signal, announce, reload, leave: leaveSaying }, location.hash);
  } catch (error) {
    // The role may have changed since the names were learned.
    if (!areNew && hasCode(error, 'insufficient_scope')) drawBar((names = await learnNames()));
    throw error;
  }
}

/**
 * @param {unknown} error
 * @param {string} code
 */
const hasCode = (error, code) => error instanceof ApiError && error.code === code;

/** Learns who is signed in and where; beside the first view how far they are, and from then on what waits for them. */
async function learnNames() {
  const learned = await Names.load();
  forgetNames();
  knowing = new AbortController();
  countWaiting(learned, knowing.signal);
  learnRoad(learned, knowing.signal);
  return learned;
}

/**
 * @param {Names} whose
 * @param {AbortSignal} signal
 */
function learnRoad(whose, signal) {
  const look = async () => {
    if (!(await whose.learnRoad(signal)) || link !== null) return true;
    if (isHome(location.hash)) void show();
    else drawBar(whose);
    return true;
  };
  // The view shows its own problem with the same gateway.
  follow(look, { signal, problem: h('div') });
}

function forgetNames() {
  names = null;
  knowing.abort();
}

async function ofDeleted() {
  const [where, me] = await Promise.all([readSession(), readMe()]);
  bar.replaceChildren(...headerOfDeleted({ session: where, me }, { signOut, switched }));
  return deletedOrganisationView(where, reload);
}

/** @param {import('./sign-in-views.js').SignInAs} as */
function toSignIn(as) {
  link = null;
  forgetNames();
  signInAs = as;
  if (doorAt(location.hash) !== null) history.replaceState(null, '', HOME);
  void show();
}

function reload() {
  forgetNames();
  void show();
}

/** @param {string} notice */
function leaveSaying(notice) {
  session.forget();
  const email = names?.me.email;
  history.replaceState(null, '', HOME);
  toSignIn({ notice, ...(email === undefined ? {} : { email }) });
}

/** The address stays, so that the person returns to the same page. */
function signedOut() {
  if (names !== null) {
    const notice = 'Your session has ended. Sign in to continue.';
    signInAs = { notice, email: names.me.email };
  }
  forgetNames();
  bar.replaceChildren(...headerBefore());
  const door = doorAt(location.hash);
  if (door !== null) return door({ toSignIn });
  const onDone = () => {
    signInAs = {};
    void show();
  };
  const why = { notice: 'An application asks for access. Sign in to see what it wants.' };
  return signInView({ ...(isConnecting(location.hash) ? why : {}), ...signInAs, onDone });
}

/** @param {View} view */
function place({ title, content }) {
  setTitle(`${title} – ${PRODUCT}`);
  main.replaceChildren(h('div', { class: 'view' }, verifiedNotice(names), content));
  const field = [...main.querySelectorAll('input')].find(({ value }) => value === '');
  const heading = main.querySelector('h1');
  if (session.token === null && field) field.focus();
  else heading?.focus();
  scrollTo(0, 0);
}

/** @param {Names} whose */
function drawBar(whose) {
  bar.replaceChildren(...headerOf(whose, { hash: location.hash, signOut, switched }));
}

/** This tab is in another organisation now. */
function switched() {
  leaveAddress();
  reload();
}

/** Ends the session at the gateway and in this tab. */
async function leave() {
  try {
    await endThisSession();
  } catch (error) {
    // Forgotten here even when the gateway cannot be reached; there it expires.
    if (!(error instanceof ApiError)) throw error;
  }
  session.end();
}

/** What is shown is of a person and an organisation; an application waits for whoever is at this browser. */
function leaveAddress() {
  if (!isConnecting(location.hash)) history.replaceState(null, '', HOME);
}

function signOut() {
  forgetNames();
  signInAs = {};
  leaveAddress();
  void leave();
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
session.whenChanged(reload);
watchIdle(() => {
  if (session.token !== null) void leave();
});
addEventListener('hashchange', () => {
  link = null;
  void show();
});
part('skip').addEventListener('click', () => {
  main.focus();
});
void show();
