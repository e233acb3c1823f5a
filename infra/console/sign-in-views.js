/** The views of a person who is not signed in: sign in, make the first owner, choose a password. */
import { h } from './dom.js';
import { errorNotice } from './error-notice.js';
import { field, newPasswordField, passwordField, textIn } from './fields.js';
import { resetPassword, setUp, signIn } from './routes.js';
import { session } from './session.js';

/** @typedef {import('./child.d.ts').Child} Child */
/** @typedef {{ title: string, content: readonly Child[] }} View */

const EMAIL = {
  type: 'email',
  autocomplete: 'username',
  inputmode: 'email',
  maxlength: 254,
  spellcheck: 'false',
};

/**
 * @param {{ notice?: string, onDone: () => void }} options
 * @returns {View}
 */
export function signInView({ notice, onDone }) {
  return {
    title: 'Sign in',
    content: [
      card(
        'Sign in',
        notice === undefined ? null : h('p', { class: 'notice' }, notice),
        form(
          [
            field('email', 'E-mail', EMAIL),
            passwordField('password', 'Password', { autocomplete: 'current-password' }),
          ],
          {
            button: 'Sign in',
            act: async (given) => {
              await begin({ email: given('email'), password: given('password') });
              onDone();
            },
          },
        ),
        h(
          'p',
          { class: 'quiet small' },
          'Forgotten? Whoever runs the gateway can make you a link to choose a new password.',
        ),
      ),
    ],
  };
}

/**
 * @param {{ token: string, onDone: () => void }} options
 * @returns {View}
 */
export function setupView({ token, onDone }) {
  return {
    title: 'Set up the gateway',
    content: [
      card(
        'Set up the gateway',
        h('p', null, 'You become the first owner. The link that led here works once.'),
        form(
          [
            field('org_name', 'Organisation', { autocomplete: 'organization', maxlength: 100 }),
            field('name', 'Your name', { autocomplete: 'name', maxlength: 100 }),
            field('email', 'E-mail', EMAIL),
            newPasswordField('password', 'Password'),
          ],
          {
            button: 'Create the organisation',
            act: async (given) => {
              const who = { email: given('email'), password: given('password') };
              await setUp({ ...who, token, name: given('name'), org_name: given('org_name') });
              await begin(who);
              onDone();
            },
          },
        ),
      ),
    ],
  };
}

/**
 * @param {{ token: string, onDone: () => void }} options
 * @returns {View}
 */
export function resetView({ token, onDone }) {
  return {
    title: 'Choose a password',
    content: [
      card(
        'Choose a password',
        h('p', null, 'The link that led here works once. Other sessions of yours end.'),
        form([newPasswordField('password', 'New password')], {
          button: 'Set the password',
          act: async (given) => {
            await resetPassword({ token, password: given('password') });
            onDone();
          },
        }),
      ),
    ],
  };
}

/** @param {{ email: string, password: string }} who */
async function begin(who) {
  const { session_token: bearer } = await signIn(who);
  session.begin(bearer);
}

/**
 * @param {string} title
 * @param {...Child} children
 */
const card = (title, ...children) =>
  h('section', { class: 'card narrow' }, h('h1', { tabindex: -1 }, title), children);

/**
 * @param {readonly Child[]} fields
 * @param {{ button: string, act: (given: (name: string) => string) => Promise<void> }} options
 */
function form(fields, { button, act }) {
  const submit = h('button', { type: 'submit', class: 'primary wide' }, button);
  const problem = h('div', { 'aria-live': 'assertive' });
  const element = h('form', null, fields, problem, submit);
  const run = async () => {
    submit.disabled = true;
    problem.replaceChildren();
    const values = new FormData(element);
    try {
      await act((name) => textIn(values, name));
    } catch (error) {
      problem.replaceChildren(errorNotice(error, { role: null }));
      const password = element.querySelector('input[type="password"]');
      if (password instanceof HTMLInputElement) password.select();
    } finally {
      submit.disabled = false;
    }
  };
  element.addEventListener('submit', (event) => {
    event.preventDefault();
    if (!submit.disabled) void run();
  });
  return element;
}
