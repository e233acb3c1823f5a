/** The steps of getting started: what each asks, and what it says once it is done. */
import { agentForm } from './agent-views.js';
import { keyPerRequest } from './api.js';
import { h } from './dom.js';
import { errorNotice } from './error-notice.js';
import { foreign } from './foreign-text.js';
import { formOf } from './form.js';
import { textIn } from './fields.js';
import { follow } from './keep-fresh.js';
import { loginOf } from './mailbox-actions.js';
import { connectForms, providerLink } from './mailbox-connect.js';
import { giveGrant, readMailbox, testMailbox } from './mailbox-routes.js';
import { hasPassed, testResult } from './mailbox-test.js';
import { NEXT, PROVIDER_LOGINS } from './mailbox-wording.js';
import { told } from './page-parts.js';
import { watchAgent } from './start-watch.js';
import { tokenForm } from './token-form.js';
import { presetField, presetOf, rightsText } from './token-presets.js';
import { tokenPanel } from './token-secret.js';

/** @import { Mailbox } from './setup-payloads.d.ts' */
/** @typedef {import('./payloads.d.ts').Child} Child */
/** @typedef {import('./start-view.js').StartPage} StartPage */

/**
 * @typedef {object} Step
 * @property {string} title
 * @property {(page: StartPage) => boolean} isDone
 * @property {(page: StartPage) => Child} content
 * @property {(page: StartPage) => Child} outcome
 */

/** @param {Child} text */
const line = (text) => h('p', { class: 'quiet' }, text);

/** @type {Step} */
const connect = {
  title: 'Connect a mailbox',
  isDone: ({ road }) => road.mailbox !== null,
  content: (page) =>
    connectForms({
      onMade: async (mailbox) => {
        await page.context.names.refresh();
        page.advance({ mailbox, isTested: false });
      },
    }),
  outcome: ({ road: { mailbox } }) =>
    mailbox && line(h('a', { href: `#/mailboxes/${mailbox.id}` }, foreign(mailbox.email))),
};

/** @type {Step} */
const test = {
  title: 'Test the connection',
  isDone: ({ isTested }) => isTested,
  content: (page) => {
    const { mailbox } = page.road;
    if (mailbox === null) return null;
    const place = h('div', { class: 'view' });
    void (loginOf(mailbox) !== null && mailbox.state === 'pending'
      ? awaitProvider(page, mailbox, place)
      : runTest(page, mailbox, place));
    return place;
  },
  outcome: () => line('Incoming and outgoing mail work.'),
};

/**
 * @param {StartPage} page
 * @param {Mailbox} mailbox
 * @param {HTMLElement} place
 */
async function runTest(page, mailbox, place) {
  place.replaceChildren(told('Testing the connection…'));
  const again = () => void runTest(page, mailbox, place);
  const next = () => {
    page.advance({ isTested: true });
  };
  const reconnect = `#/mailboxes/${mailbox.id}/reconnect?from=start`;
  try {
    const result = await testMailbox(mailbox.id);
    const isGood = hasPassed(result);
    place.replaceChildren(
      testResult(result, mailbox),
      h(
        'div',
        { class: 'toolbar' },
        isGood ? button('Continue', 'primary', next) : null,
        isGood ? null : h('a', { class: 'button primary', href: reconnect }, 'Correct the settings'),
        button('Test again', 'plain', again),
      ),
    );
    focusNext(place);
  } catch (error) {
    if (page.context.signal.aborted) return;
    place.replaceChildren(
      errorNotice(error, { next: NEXT }),
      h('p', null, button('Test again', 'plain', again)),
    );
  }
}

/**
 * Goes to what follows, unless the person is elsewhere already.
 * @param {HTMLElement} place
 */
function focusNext(place) {
  const { activeElement: at } = document;
  const next = place.querySelector('.primary');
  const isFree = at === null || at === document.body || /^H[12]$/.test(at.tagName);
  if (isFree && next instanceof HTMLElement) next.focus();
}

/**
 * @param {string} label
 * @param {string} tone
 * @param {() => void} act
 */
const button = (label, tone, act) => h('button', { type: 'button', class: tone, on: { click: act } }, label);

/**
 * Leads to the provider, and waits until the mailbox was authorized there.
 * @param {StartPage} page
 * @param {Mailbox} mailbox
 * @param {HTMLElement} place
 */
async function awaitProvider(page, mailbox, place) {
  const { signal } = page.context;
  const login = loginOf(mailbox) ?? 'google';
  const problem = h('div');
  try {
    place.replaceChildren(await providerLink(mailbox.id, login, PROVIDER_LOGINS[login]), problem);
  } catch (error) {
    if (!signal.aborted) place.replaceChildren(errorNotice(error, { next: NEXT }));
    return;
  }
  const look = async () => {
    if (!place.isConnected) return true;
    const now = await readMailbox(mailbox.id, signal);
    if (now.state === 'pending') return false;
    void runTest(page, now, place);
    return true;
  };
  follow(look, { signal, problem });
}

/** @type {Step} */
const agent = {
  title: 'Make an agent',
  isDone: ({ road }) => road.agent !== null,
  content: (page) => [
    line('A program that works with mail gets a name of its own, so that you can tell what it did.'),
    agentForm({
      name: 'Mail assistant',
      onMade: (made) => {
        page.context.names.learn({ [made.id]: made.name });
        page.advance({ agent: made });
      },
    }),
  ],
  outcome: ({ road: made }) =>
    made.agent && line(h('a', { href: `#/agents/${made.agent.id}` }, foreign(made.agent.name))),
};

/** @type {Step} */
const grant = {
  title: 'Give it a grant',
  isDone: ({ road }) => road.grant !== null,
  content: (page) => {
    const { mailbox, agent: who } = page.road;
    if (mailbox === null || who === null) return null;
    const keyOf = keyPerRequest();
    return [
      h('p', { class: 'quiet' }, 'What ', foreign(who.name), ' may do in ', foreign(mailbox.email), '.'),
      formOf([presetField('triage')], {
        button: 'Give the grant',
        next: NEXT,
        act: async (values) => {
          const body = { principal_id: who.id, preset: textIn(values, 'preset') };
          page.advance({ grant: await giveGrant(mailbox.id, body, keyOf(body)) });
        },
      }),
    ];
  },
  outcome: ({ road: { grant: given } }) => given && h('div', { class: 'quiet' }, rightsText(given.scopes)),
};

/** @type {Step} */
const token = {
  title: 'Issue its token',
  isDone: ({ road }) => road.token !== null,
  content: (page) => {
    const { mailbox, agent: who, grant: given } = page.road;
    if (mailbox === null || who === null) return null;
    return tokenForm({
      name: who.name,
      principals: [[who.id, who.name]],
      preset: presetOf(given?.scopes ?? [])?.value ?? 'triage',
      mailboxes: [],
      onIssued: (issued) => {
        page.secret.replaceChildren(tokenPanel(issued, mailbox.id));
        page.advance({ token: issued });
        page.secret.querySelector('h2')?.focus();
      },
    });
  },
  outcome: ({ road: { token: issued, agent: who }, secret }) =>
    secret.childElementCount > 0
      ? secret
      : line([
          'It was shown once. Lost it? ',
          h('a', { href: `#/tokens/new?for=${who?.id ?? ''}` }, 'Issue another one'),
          issued === null ? null : [' and revoke ', h('a', { href: `#/tokens/${issued.id}` }, 'this one')],
          '.',
        ]),
};

/** @type {Step} */
const watch = {
  title: 'See it work',
  isDone: () => false,
  content: (page) => watchAgent(page),
  outcome: () => null,
};

/** @type {readonly Step[]} */
export const STEPS = [connect, test, agent, grant, token, watch];
