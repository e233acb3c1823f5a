/** Creating an account, and asking for a mail: to verify the address, or to choose a new password. */
import { cardView } from './card.js';
import { h } from './dom.js';
import { EMAIL, field, newPasswordFields, textIn } from './fields.js';
import { foreign } from './foreign-text.js';
import { formOf } from './form.js';
import { byMail, installation } from './installation.js';
import { HOME } from './pages.js';
import { forgotPassword, resendVerification, signUp } from './people-routes.js';

/** @typedef {import('./sign-in-views.js').View} View */
/** @typedef {import('./sign-in-views.js').Door} Door */

/**
 * @param {Door} door
 * @returns {View}
 */
export function signUpView({ toSignIn }) {
  if (!installation.isOpen)
    return cardView(
      'Create an account',
      h('p', null, 'Accounts are made by invite here. Ask an owner or admin of your organisation for one.'),
      h('p', { class: 'quiet small' }, signInLink()),
    );
  const place = h('div', { class: 'stack' });
  const form = formOf(
    [
      field('name', 'Your name', { autocomplete: 'name', maxlength: 100 }),
      field('email', 'E-mail', EMAIL),
      newPasswordFields('password', 'Password'),
      field(
        'org_name',
        'Organisation',
        { autocomplete: 'organization', maxlength: 100 },
        'You become its owner. Were you invited to one? Open the link in that mail instead.',
      ),
    ],
    {
      tone: 'primary wide',
      button: 'Create the account',
      act: async (values) => {
        const email = textIn(values, 'email');
        await signUp({
          email,
          name: textIn(values, 'name'),
          password: textIn(values, 'password'),
          org_name: textIn(values, 'org_name'),
        });
        tell(
          place,
          [
            byMail(['A mail is on its way to ', h('strong', null, foreign(email)), '.']),
            ' Open the link to verify the address. You can already sign in and look around.',
          ],
          h(
            'button',
            { type: 'button', class: 'primary wide', on: { click: () => { toSignIn({ email }); } } }, // prettier-ignore
            'Sign in',
          ),
        );
      },
    },
  );
  place.append(form, h('p', { class: 'quiet small' }, 'Have an account? ', signInLink()));
  return cardView('Create an account', place);
}

/** @returns {View} */
export const forgotView = () =>
  asking({
    title: 'Forgot your password?',
    about: 'You get a link to choose a new one. It works for half an hour.',
    ask: forgotPassword,
    next: byMail(
      'If there is an account with this address, the mail is on its way. Look among unwanted mail too.',
    ),
  });

/** @returns {View} */
export const resendView = () =>
  asking({
    title: 'Verify your address',
    about: 'You get a new link. Links sent before stop working.',
    ask: resendVerification,
    next: byMail(
      'If an account with this address waits for it, the mail is on its way. Look among unwanted mail too.',
    ),
  });

/**
 * The answer is the same for every address.
 * @param {{ title: string, about: string, ask: (body: { email: string }) => Promise<unknown>, next: string }} options
 */
function asking({ title, about, ask, next }) {
  const place = h('div', { class: 'stack' });
  const form = formOf([field('email', 'E-mail', EMAIL)], {
    tone: 'primary wide',
    button: byMail('Send the mail', 'Make the link'),
    act: async (values) => {
      await ask({ email: textIn(values, 'email') });
      tell(place, [next]);
    },
  });
  place.append(h('p', null, about), form);
  return cardView(title, place, h('p', { class: 'quiet small' }, signInLink()));
}

/**
 * Puts the outcome in the place of the form.
 * @param {HTMLElement} place
 * @param {import('./payloads.d.ts').Child} text
 * @param {...HTMLElement} below
 */
function tell(place, text, ...below) {
  const notice = h('p', { class: 'notice', role: 'status', tabindex: -1 }, text);
  place.replaceChildren(notice, ...below);
  notice.focus();
}

const signInLink = () => h('a', { href: HOME }, 'Sign in');
