/** The views before sign-in: sign in, set up the gateway, choose a password. */
import { cardView } from './card.js';
import { h } from './dom.js';
import { AFTER_WRONG_TRIES, EMAIL, field, newPasswordFields, passwordField, textIn } from './fields.js';
import { foreign } from './foreign-text.js';
import { formOf } from './form.js';
import { installation } from './installation.js';
import { readPasswordLink, resetPassword, setUp, signIn } from './routes.js';
import { session } from './session.js';

/** @typedef {import('./payloads.d.ts').Child} Child */
/** @typedef {{ title: string, content: readonly Child[] }} View */

/** @typedef {{ notice?: string, email?: string }} SignInAs `email`: of the person who signs in, if known */
/** @typedef {{ toSignIn: (as: SignInAs) => void }} Door what leads from a view without a session to the next one */

/**
 * @param {SignInAs & { onDone: () => void }} options
 * @returns {View}
 */
export function signInView({ notice, email, onDone }) {
  return cardView(
    'Sign in',
    notice === undefined ? null : h('p', { class: 'notice' }, notice),
    formOf(
      [
        field('email', 'E-mail', { ...EMAIL, value: email ?? null }),
        passwordField('password', 'Password', { autocomplete: 'current-password' }),
      ],
      {
        tone: 'primary wide',
        button: 'Sign in',
        next: { invalid_credentials: `Check the address and the password. ${AFTER_WRONG_TRIES}` },
        act: async (values) => {
          await begin({ email: textIn(values, 'email'), password: textIn(values, 'password') });
          onDone();
        },
      },
    ),
    installation.hasSystemMail
      ? h('p', { class: 'small' }, h('a', { href: '#/forgot' }, 'Forgot your password?'))
      : h('p', { class: 'quiet small' }, 'Forgot your password? Ask your administrator for a reset link.'),
    installation.isOpen
      ? h('p', { class: 'small' }, 'New here? ', h('a', { href: '#/sign-up' }, 'Create an account'))
      : null,
  );
}

/**
 * @param {{ token: string, onDone: () => void }} options
 * @returns {View}
 */
export function setupView({ token, onDone }) {
  return cardView(
    'Set up the gateway',
    h('p', null, 'You become the first owner. This link works once.'),
    formOf(
      [
        field('org_name', 'Organisation', { autocomplete: 'organization', maxlength: 100 }),
        field('name', 'Your name', { autocomplete: 'name', maxlength: 100 }),
        field('email', 'E-mail', EMAIL),
        newPasswordFields('password', 'Password'),
      ],
      {
        tone: 'primary wide',
        button: 'Create the organisation',
        next: {
          invalid_credentials: 'Restart the gateway for a new link, unless it was set up already.',
        },
        act: async (values) => {
          const who = { email: textIn(values, 'email'), password: textIn(values, 'password') };
          await setUp({ ...who, token, name: textIn(values, 'name'), org_name: textIn(values, 'org_name') });
          await begin(who);
          onDone();
        },
      },
    ),
  );
}

export const NEW_PASSWORD_LINK = installation.hasSystemMail
  ? 'Ask for a new link under “Forgot your password?”.'
  : 'Your administrator can make you a new link.';

/**
 * Names the account first. Throws an `ApiError` with the code `invalid_credentials` for an invalid link.
 * @param {{ token: string, onDone: (email: string) => void }} options
 * @returns {Promise<View>}
 */
export async function resetView({ token, onDone }) {
  const { user, org } = await readPasswordLink({ token });
  return cardView(
    'Choose a password',
    h(
      'p',
      null,
      'For ',
      h('strong', null, foreign(user.name)),
      ' (',
      foreign(user.email),
      ')',
      org === null ? '.' : [' at ', h('strong', null, foreign(org.name)), '.'],
    ),
    h('p', null, 'This link works once. Your other sessions end.'),
    formOf(
      [
        h('input', { type: 'hidden', name: 'username', autocomplete: 'username', value: user.email }),
        newPasswordFields('password', 'New password'),
      ],
      {
        tone: 'primary wide',
        button: 'Set the password',
        next: { invalid_credentials: NEW_PASSWORD_LINK },
        act: async (values) => {
          await resetPassword({ token, password: textIn(values, 'password') });
          onDone(user.email);
        },
      },
    ),
  );
}

/** @param {{ email: string, password: string }} who */
async function begin(who) {
  const { session_token: bearer } = await signIn(who);
  session.begin(bearer);
}
