/** The fields of a mailbox: its servers, and how the gateway signs in there. */
import { radios } from './choices.js';
import { h } from './dom.js';
import { field, passwordField, textIn } from './fields.js';
import { PROVIDER_LOGINS, SECURITIES } from './mailbox-wording.js';

/** @import { Hosts, ProviderLogin, Security, SignInWith } from './setup-payloads.d.ts' */

/** @typedef {'imap' | 'smtp'} Protocol */

/** @type {Readonly<Record<Protocol, { legend: string, port: number, security: Security }>>} */
const PROTOCOLS = {
  imap: { legend: 'Incoming mail (IMAP)', port: 993, security: 'tls' },
  smtp: { legend: 'Outgoing mail (SMTP)', port: 465, security: 'tls' },
};

/**
 * @param {Protocol} protocol
 * @param {Hosts | undefined | null} hosts what is in the fields at first
 */
export function hostFields(protocol, hosts) {
  const { legend, port, security } = PROTOCOLS[protocol];
  const chosen = hosts?.security ?? security;
  const id = `field-${protocol}_security`;
  return h(
    'fieldset',
    { class: 'hosts' },
    h('legend', null, legend),
    h(
      'div',
      { class: 'host-row' },
      field(`${protocol}_host`, 'Server', {
        value: hosts?.host ?? null,
        maxlength: 253,
        pattern: '[A-Za-z0-9._:\\-]+',
        spellcheck: 'false',
        autocapitalize: 'none',
        autocomplete: 'off',
        id: `field-${protocol}_host`,
        'aria-label': `${protocol.toUpperCase()} server`,
      }),
      field(`${protocol}_port`, 'Port', {
        type: 'number',
        min: 1,
        max: 65_535,
        value: hosts?.port ?? port,
        'aria-label': `${protocol.toUpperCase()} port`,
      }),
      h(
        'div',
        { class: 'field' },
        h('label', { for: id }, 'Security'),
        h(
          'select',
          { id, name: `${protocol}_security`, 'aria-label': `${protocol.toUpperCase()} security` },
          Object.entries(SECURITIES).map(([value, text]) =>
            h('option', { value, selected: value === chosen }, value === 'none' ? 'None, on loopback' : text),
          ),
        ),
      ),
    ),
  );
}

/**
 * @param {FormData} values
 * @param {Protocol} protocol
 * @returns {Hosts}
 */
export const hostsIn = (values, protocol) => ({
  host: textIn(values, `${protocol}_host`).trim().toLowerCase(),
  port: Number(textIn(values, `${protocol}_port`)),
  security: /** @type {Security} */ (textIn(values, `${protocol}_security`)),
});

const PASSWORD = 'password';

/**
 * A password, or an authorization at a provider: the first of `logins` is chosen. Fields that are not shown are not required.
 * @param {{ username: string | null, logins: readonly ProviderLogin['provider'][], provider: string | null }} given
 *   `username`: null where one is stored, which stays unless another is given; `provider`: who has the mailbox, as
 *   autodiscovery names it
 */
export function signInFields({ username, logins, provider }) {
  const fields = passwordFields(username, provider);
  const [first] = logins;
  if (first === undefined) return h('div', null, fields);
  const choices = logins.map((value) => ({
    value,
    label: `With ${PROVIDER_LOGINS[value]}`,
    about: `You sign in at ${PROVIDER_LOGINS[value]} and agree. The gateway never sees your password.`,
  }));
  const byPassword = { value: PASSWORD, label: 'With a password', content: h('div', null, fields) };
  const element = radios('sign_in_with', 'How the gateway signs in', [...choices, byPassword], first);
  const inputs = fields.flatMap((each) => [...each.querySelectorAll('input')]);
  const require = () => {
    const chosen = element.querySelector('input:checked')?.getAttribute('value');
    for (const input of inputs)
      input.required = chosen === PASSWORD && (username !== null || input.name !== USER_NAME);
  };
  element.addEventListener('change', require);
  require();
  return element;
}

const USER_NAME = 'username';

/**
 * @param {string | null} username
 * @param {string | null} provider
 */
const passwordFields = (username, provider) => [
  field(
    USER_NAME,
    'User name',
    {
      value: username,
      required: username !== null,
      maxlength: 320,
      spellcheck: 'false',
      autocapitalize: 'none',
      autocomplete: 'off',
    },
    username === null ? 'Empty: the one that is stored. Other servers need it again.' : undefined,
  ),
  passwordField(
    'mail_password',
    'Password of the mailbox',
    { autocomplete: 'off' },
    APP_PASSWORDS[provider ?? ''],
  ),
];

/** @type {Readonly<Record<string, string>>} */
const APP_PASSWORDS = {
  gmail: 'Google wants an app password: myaccount.google.com, Security, App passwords.',
  outlook: 'Microsoft accepts no password here for most accounts; sign in with Microsoft instead.',
  icloud: 'Apple wants an app-specific password: account.apple.com, Sign-In and Security.',
  yahoo: 'Yahoo wants an app password: Account security, Generate app password.',
  fastmail: 'Fastmail wants an app password: Settings, Privacy & Security.',
};

/**
 * @param {FormData} values
 * @returns {SignInWith}
 */
export function signInWith(values) {
  const way = textIn(values, 'sign_in_with');
  if (way === 'google' || way === 'microsoft') return { type: 'oauth2', provider: way };
  return {
    type: 'password',
    username: textIn(values, USER_NAME).trim(),
    password: textIn(values, 'mail_password'),
  };
}
