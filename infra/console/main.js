/** The approver's page: which view the address asks for, and what stands around every view. */
import { ApiError, askForStepUpWith } from './api.js';
import { approvalView } from './approval-view.js';
import { closeDialogs } from './dialog.js';
import { h, icon } from './dom.js';
import { errorNotice, mayPass } from './error-notice.js';
import { foreign } from './foreign-text.js';
import { watchIdle } from './idle.js';
import { listView } from './list-view.js';
import { Names } from './names.js';
import { signOut } from './routes.js';
import { session } from './session.js';
import { badLinkView, resetView, setupView, signInView } from './sign-in-views.js';
import { stepUp } from './step-up.js';
import { keepTimesTrue } from './times.js';

/**
 * @typedef {object} ViewContext
 * @property {Names} names
 * @property {AbortSignal} signal aborted when the view is left
 * @property {(news: string) => void} announce tells those who listen to the page
 */
/** @typedef {import('./sign-in-views.js').View} View */

const PRODUCT = 'Mailbox Gateway';
const HOME = '#/approvals';
const RETRY_MS = 5_000;

const main = part('main');
const bar = part('bar');
const news = part('news');

/** @type {AbortController} */
let showing = new AbortController();
/** @type {Names | null} */
let names = null;
/** A one-time link's word and token, taken out of the address before anything else sees them. */
let link = takeLink();
/** @type {{ notice?: string, email?: string }} what the next sign-in says */
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

/** Shows what the address asks for. What a view throws is shown in its place. */
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
const failure = (error) => ({
  title: 'Something went wrong',
  content: [
    h('h1', { tabindex: -1 }, 'This cannot be shown'),
    errorNotice(error, { isRetried: true }),
    h(
      'p',
      { class: 'row' },
      h('button', { type: 'button', class: 'plain', on: { click: () => void show() } }, 'Try again'),
      h('a', { href: HOME }, 'All approvals'),
    ),
  ],
});

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
  const context = { names, signal, announce };
  const [path = '', query] = location.hash.slice(1).split('?');
  const [, id] = /^\/approvals\/(chk_[0-9a-z]+)$/.exec(path) ?? [];
  if (id !== undefined) return await approvalView(context, id);
  if (path === '' || path === '/' || path === '/approvals')
    return await listView(context, new URLSearchParams(query));
  throw new ApiError('no_such_page', 'There is no such page here.');
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

/** The address stays, so that signing in leads to the same place. */
function signedOut() {
  if (names !== null) {
    const notice = 'Your session is over. Sign in to go on where you were.';
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
    h(
      'p',
      { class: 'who' },
      h('span', null, foreign(user.name)),
      h('span', { class: 'quiet' }, foreign(org.name)),
    ),
    out,
  );
}

/** Ends the session there and here. */
async function leave() {
  try {
    await signOut();
  } catch (error) {
    // What could not be told to the gateway is forgotten here all the same, and ends there in time.
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
