/** What can be done with a mailbox. Removing asks first and states the consequence. */
import { keyPerRequest, newKey } from './api.js';
import { ask } from './dialog.js';
import { h } from './dom.js';
import { foreign } from './foreign-text.js';
import { formOf } from './form.js';
import { hostFields, hostsIn, signInFields, signInWith } from './mailbox-fields.js';
import { changeMailbox, readMailbox, removeMailbox, storeCredentials } from './mailbox-routes.js';
import { NEXT, PROVIDER_LOGINS } from './mailbox-wording.js';
import { backTo, cancelTo, formPage } from './page-parts.js';

/** @import { Hosts, Mailbox, MailboxChange, ProviderLogin, SignInWith } from './setup-payloads.d.ts' */

/** @param {Mailbox} mailbox */
export const pause = (mailbox) => changeMailbox(mailbox, { paused: true }, newKey());

/** @param {Mailbox} mailbox */
export const resume = (mailbox) => changeMailbox(mailbox, { paused: false }, newKey());

/** @param {Mailbox} mailbox */
export const restore = (mailbox) => changeMailbox(mailbox, { restore: true }, newKey());

/** @param {Mailbox} mailbox */
export function remove(mailbox) {
  const key = newKey();
  return ask({
    title: 'Remove this mailbox?',
    content: [
      h('p', { class: 'dialog-what' }, foreign(mailbox.email)),
      h(
        'p',
        null,
        'Nobody can use it from then on, and what waits for approval there is withdrawn. Nothing is deleted on the mail server. ',
        'You can restore it for seven days; then the gateway erases its copy and its credentials.',
      ),
    ],
    confirm: 'Remove mailbox',
    tone: 'danger',
    next: NEXT,
    act: () => removeMailbox(mailbox.id, key),
  });
}

/**
 * The provider whose login a mailbox has; null for a password.
 * @param {Pick<Mailbox, 'provider' | 'auth_type'>} mailbox
 * @returns {ProviderLogin['provider'] | null}
 */
export const loginOf = ({ provider, auth_type: type }) =>
  type === 'oauth2' && (provider === 'google' || provider === 'microsoft') ? provider : null;

/**
 * Another password, other servers, or an authorization at the provider.
 * @param {import('./main.js').ViewContext} context
 * @param {string} id
 * @param {URLSearchParams} query `from=start` leads back to getting started
 */
export async function reconnectView({ signal }, id, query) {
  const mailbox = await readMailbox(id, signal);
  const isStart = query.get('from') === 'start';
  const route = isStart ? '#/start' : `#/mailboxes/${id}`;
  const keyOf = keyPerRequest();
  const login = loginOf(mailbox);
  const others = /** @type {ProviderLogin['provider'][]} */ (Object.keys(PROVIDER_LOGINS));
  const form = formOf(
    [
      signInFields({
        username: login === null ? null : mailbox.email,
        logins: login === null ? [] : [login, ...others.filter((each) => each !== login)],
        provider: null,
      }),
      hostFields('imap', mailbox.imap),
      hostFields('smtp', mailbox.smtp),
    ],
    {
      button: 'Reconnect',
      beside: cancelTo(route),
      next: NEXT,
      act: async (values) => {
        const hosts = { imap: hostsIn(values, 'imap'), smtp: hostsIn(values, 'smtp') };
        const auth = signInWith(values);
        await reconnect(mailbox, { ...hosts, auth }, keyOf);
        location.hash = isStart ? route : `${route}?${auth.type === 'oauth2' ? 'authorize' : 'new'}=1`;
      },
    },
  );
  return formPage('Reconnect the mailbox', {
    back: backTo(route, isStart ? 'Getting started' : 'Mailbox'),
    content: [h('p', { class: 'quiet lead' }, foreign(mailbox.email)), h('section', { class: 'card' }, form)],
  });
}

/**
 * A password for the same servers is stored; everything else is a change of settings.
 * @param {Mailbox} mailbox
 * @param {{ imap: Hosts, smtp: Hosts, auth: SignInWith }} wanted
 * @param {(body: object) => string} keyOf
 */
async function reconnect(mailbox, { imap, smtp, auth }, keyOf) {
  const sameHosts = isSame(imap, mailbox.imap) && isSame(smtp, mailbox.smtp);
  if (sameHosts && auth.type === 'password' && mailbox.auth_type === 'password') {
    const { username, password } = auth;
    const body = username === '' ? { password } : { username, password };
    await storeCredentials(mailbox.id, body, keyOf(body));
    return;
  }
  /** @type {MailboxChange} */
  const body = { imap, smtp, auth };
  await changeMailbox(mailbox, body, keyOf(body));
}

/**
 * @param {Hosts} one
 * @param {Hosts | null} other
 */
const isSame = (one, other) =>
  other !== null && one.host === other.host && one.port === other.port && one.security === other.security;
