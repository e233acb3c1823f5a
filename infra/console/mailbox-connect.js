/** Connecting a mailbox: its address, then the servers that were found for it and how to sign in. */
import { keyPerRequest } from './api.js';
import { h } from './dom.js';
import { field, textIn } from './fields.js';
import { foreign } from './foreign-text.js';
import { formOf } from './form.js';
import { hostFields, hostsIn, signInFields, signInWith } from './mailbox-fields.js';
import { authorizeProvider, createMailbox, discoverMailbox } from './mailbox-routes.js';
import { LOGIN_OF, NEXT } from './mailbox-wording.js';

/** @import { Discovery, Mailbox, ProviderLogin } from './setup-payloads.d.ts' */
/** @typedef {import('./payloads.d.ts').Child} Child */

/**
 * Two forms, one after the other. `onMade` gets the mailbox, once it exists.
 * @param {{ beside?: Child, onMade: (mailbox: Mailbox) => Promise<void> }} options
 */
export function connectForms({ beside = null, onMade }) {
  const place = h('div');
  /** @param {string} email */
  const askAddress = (email) => {
    const form = formOf(
      [
        field(
          'email',
          'Address of the mailbox',
          {
            type: 'email',
            inputmode: 'email',
            maxlength: 320,
            value: email,
            autocomplete: 'off',
            spellcheck: 'false',
          },
          'The gateway looks up its mail servers. Nothing is sent to them yet.',
        ),
      ],
      {
        button: 'Find the servers',
        beside,
        next: NEXT,
        act: async (values) => {
          const address = textIn(values, 'email').trim();
          show(address, await discoverMailbox(address));
        },
      },
    );
    place.replaceChildren(form);
  };
  /**
   * @param {string} email
   * @param {Discovery} found
   */
  const show = (email, found) => {
    const again = () => {
      askAddress(email);
      place.querySelector('input')?.focus();
    };
    place.replaceChildren(detailsForm({ email, found, again, onMade }));
    const signIn = place.querySelector('[name=sign_in_with]:checked, [name=mail_password]');
    const first = found.source === 'none' ? place.querySelector('[name=imap_host]') : signIn;
    if (first instanceof HTMLElement) first.focus();
  };
  askAddress('');
  return place;
}

/** @param {{ email: string, found: Discovery, again: () => void, onMade: (mailbox: Mailbox) => Promise<void> }} options */
function detailsForm({ email, found, again, onMade }) {
  const keyOf = keyPerRequest();
  return formOf(
    [
      h(
        'p',
        null,
        h('strong', null, foreign(email)),
        ' ',
        h('button', { type: 'button', class: 'link', on: { click: again } }, 'Another address'),
      ),
      h('p', { class: 'quiet', role: 'status' }, whatWasFound(email, found)),
      hostFields('imap', found.imap[0]),
      hostFields('smtp', found.smtp[0]),
      signInFields({
        username: email,
        logins: loginsOf(found),
        provider: found.provider,
      }),
    ],
    {
      button: 'Connect the mailbox',
      next: NEXT,
      act: async (values) => {
        const auth = signInWith(values);
        const body = { email, imap: hostsIn(values, 'imap'), smtp: hostsIn(values, 'smtp'), auth };
        await onMade(await createMailbox(body, keyOf(body)));
      },
    },
  );
}

/**
 * @param {Discovery} found
 * @returns {readonly ProviderLogin['provider'][]}
 */
function loginsOf({ provider }) {
  const login = LOGIN_OF[provider ?? ''];
  return login === undefined ? [] : [login];
}

/**
 * @param {string} email
 * @param {Discovery} found
 */
function whatWasFound(email, { source, imap, smtp }) {
  const domain = email.slice(email.lastIndexOf('@') + 1).toLowerCase();
  if (source === 'none')
    return 'No servers were found. Enter those that your provider names for mail programs.';
  if (source === 'guess')
    return 'These servers have a usual name, but nothing confirms them. Check them first.';
  if (source === 'known') return 'These are the servers of the provider that takes your mail.';
  const isElsewhere = [...imap, ...smtp].some(({ host }) => host !== domain && !host.endsWith(`.${domain}`));
  return isElsewhere
    ? [
        foreign(domain),
        ' names these servers, which are not below its own name. Check them before you give a password.',
      ]
    : [foreign(domain), ' names these servers.'];
}

/**
 * Leads to the provider, and says what follows.
 * @param {string} mailboxId
 * @param {ProviderLogin['provider']} provider
 * @param {string} name of the provider
 */
export async function providerLink(mailboxId, provider, name) {
  const { authorize_url: url } = await authorizeProvider(mailboxId, provider);
  return h(
    'div',
    { class: 'notice', role: 'status' },
    h('p', { class: 'notice-title' }, `Sign in at ${name}`),
    h('p', null, 'It opens in a new tab. The mailbox connects by itself once you have agreed there.'),
    h(
      'p',
      null,
      h(
        'a',
        { class: 'button primary', href: url, target: '_blank', rel: 'noopener noreferrer' },
        `Continue at ${name}`,
      ),
    ),
  );
}
