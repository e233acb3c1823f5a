/** The account of the signed-in person: name, address, password, notices of approvals, sessions, data, and its end. */
import { endCard, exportCard } from './account-data.js';
import { SessionsCard } from './account-sessions.js';
import { badgeOf, CHECK, QUESTION } from './badges.js';
import { radios } from './choices.js';
import { ApplicationsCard } from './connected-list.js';
import { h } from './dom.js';
import { field, newPasswordFields, passwordField, textIn } from './fields.js';
import { foreign } from './foreign-text.js';
import { formOf } from './form.js';
import { keepFresh } from './keep-fresh.js';
import { notificationSwitch } from './notifications.js';
import { card, told } from './page-parts.js';
import { changeMe, changePassword } from './people-routes.js';
import { resendButton } from './verified-notice.js';

/** @import { NotificationLevel } from './people-payloads.d.ts' */
/** @typedef {import('./main.js').ViewContext} ViewContext */

/** @param {ViewContext} context */
export async function accountView(context) {
  const problem = h('div');
  const cards = [applicationsCard(context), new SessionsCard(context)];
  const refresh = async () => {
    await Promise.all(cards.map((each) => each.refresh()));
  };
  await refresh();
  keepFresh(context.signal, problem, refresh);
  return {
    title: 'Account',
    content: [
      h('h1', { tabindex: -1 }, 'Account'),
      problem,
      h(
        'div',
        { class: 'view form-page' },
        nameCard(context),
        passwordCard(context),
        noticesCard(context),
        cards.map(({ content }) => content),
        exportCard(context),
        endCard(context),
      ),
    ],
  };
}

/** @param {ViewContext} context */
const applicationsCard = (context) =>
  new ApplicationsCard(context, {
    id: 'applications',
    title: 'Connected applications',
    about: 'What acts in your name here. Disconnect what you do not know or no longer use.',
    empty: 'None.',
    userId: context.names.session.user.id,
  });

/** @satisfies {Readonly<Record<string, import('./badges.js').StatusWords>>} */
const ADDRESS = {
  verified: { label: 'Verified', tone: 'good', path: CHECK, about: 'The address was shown to be yours.' },
  unverified: {
    label: 'Not verified',
    tone: 'ask',
    path: QUESTION,
    about: 'Open the link that verifies it.',
  },
};

/** @param {ViewContext} context */
function nameCard({ names, announce, reload }) {
  const { name, email, is_verified: isVerified } = names.me;
  return card(
    'you',
    'You',
    h(
      'p',
      { class: 'row wrap' },
      foreign(email),
      badgeOf(isVerified ? ADDRESS.verified : ADDRESS.unverified),
    ),
    isVerified ? null : resendButton(email),
    formOf([field('name', 'Name', { autocomplete: 'name', maxlength: 100, value: name })], {
      button: 'Save the name',
      act: async (values) => {
        await changeMe({ name: textIn(values, 'name') });
        announce('Saved.');
        reload();
      },
    }),
  );
}

/** @param {ViewContext} context */
function passwordCard({ names }) {
  const changed = h('div', { 'aria-live': 'polite' });
  const form = formOf(
    [
      h('input', { type: 'hidden', name: 'username', autocomplete: 'username', value: names.me.email }),
      passwordField('old_password', 'Present password', { autocomplete: 'current-password' }),
      newPasswordFields('password', 'New password'),
    ],
    {
      button: 'Change the password',
      next: { invalid_credentials: 'The present password is not right.' },
      act: async (values) => {
        changed.replaceChildren();
        await changePassword({ old: textIn(values, 'old_password'), new: textIn(values, 'password') });
        form.reset();
        changed.replaceChildren(told('The password is changed. Your other sessions have ended.'));
      },
    },
  );
  return card('password', 'Password', form, changed);
}

/** @type {readonly { value: NotificationLevel, label: string, about: string }[]} */
const LEVELS = [
  { value: 'each', label: 'Soon', about: 'The first at once, later ones together every quarter of an hour.' },
  {
    value: 'digest',
    label: 'Once a day',
    about: 'All of a day together, and a reminder before one expires.',
  },
  { value: 'off', label: 'Never', about: 'You find them in the console.' },
];

/** @param {ViewContext} context */
function noticesCard({ names }) {
  const saved = h('div', { 'aria-live': 'polite' });
  const form = formOf([radios('notifications', 'Mails', LEVELS, names.me.notifications)], {
    button: 'Save the choice',
    act: async (values) => {
      saved.replaceChildren();
      const notifications = /** @type {NotificationLevel} */ (textIn(values, 'notifications'));
      names.me = await changeMe({ notifications });
      saved.replaceChildren(told('Saved.'));
    },
  });
  return card(
    'notices',
    'Approvals that wait for you',
    form,
    saved,
    h('h3', null, 'In the browser'),
    notificationSwitch(),
  );
}
