/** Inviting a person: the address, the role, and what of which mailbox. */
import { keyPerRequest } from './api.js';
import { radios } from './choices.js';
import { h } from './dom.js';
import { EMAIL, field, selectField, textIn } from './fields.js';
import { foreign } from './foreign-text.js';
import { formOf } from './form.js';
import { byMail } from './installation.js';
import { listMailboxes } from './mailbox-routes.js';
import { backTo, cancelTo, card } from './page-parts.js';
import { createInvite } from './people-routes.js';
import { NEXT, rolesGivenBy } from './people-wording.js';
import { PRESETS } from './token-presets.js';

/** @import { InviteSettings, Role } from './people-payloads.d.ts' */
/** @typedef {import('./main.js').ViewContext} ViewContext */
/** @typedef {{ id: string, email: string }} Mailbox */

/** @param {ViewContext} context */
export async function inviteView({ names, signal }) {
  const mailboxes = names.may('mailboxes:grants') ? await listMailboxes(signal) : [];
  const keyOf = keyPerRequest();
  const place = h('div', { class: 'view form-page' });
  const form = formOf(
    [
      h(
        'section',
        { class: 'card' },
        field('email', 'E-mail', { ...EMAIL, autocomplete: 'off' }),
        roleField(names),
      ),
      mailboxesCard(mailboxes),
    ],
    {
      button: 'Send the invite',
      beside: cancelTo('#/people'),
      next: { ...NEXT, conflict: 'Look for the address among the people and invites.' },
      act: async (values) => {
        const settings = settingsIn(values, mailboxes);
        const { email } = await createInvite(settings, keyOf(settings));
        const title = h('h1', { tabindex: -1 }, byMail('Invite sent', 'Invite made'));
        place.replaceChildren(
          title,
          h(
            'p',
            { class: 'lead' },
            byMail(['A link is on its way to ', h('strong', null, foreign(email)), '.']),
            ' It works once, within seven days.',
          ),
          h('p', null, h('a', { class: 'button primary', href: '#/people' }, 'All people')),
        );
        title.focus();
      },
    },
  );
  place.append(backTo('#/people', 'People'), h('h1', { tabindex: -1 }, 'Invite someone'), form);
  return { title: 'Invite someone', content: [place] };
}

/** @param {import('./names.js').Names} names */
const roleField = (names) =>
  radios(
    'role',
    'Role',
    rolesGivenBy(names.session.role).map(([value, label, about]) => ({ value, label, about })),
    'member',
  );

/** @type {readonly (readonly [value: string, label: string])[]} */
const CHOICES = [
  ['', 'Nothing'],
  ...PRESETS.map(({ value, label }) => /** @type {const} */ ([value, label])),
];

/** @param {readonly Mailbox[]} mailboxes */
const mailboxesCard = (mailboxes) =>
  mailboxes.length === 0
    ? null
    : card(
        'mailboxes',
        'Mailboxes',
        h('p', { class: 'quiet small' }, 'What the person may do with each. It can be changed later.'),
        mailboxes.map(({ id, email }) => selectField(fieldOf(id), foreign(email), CHOICES)),
      );

/** @param {string} id */
const fieldOf = (id) => `preset-${id}`;

/**
 * @param {FormData} form
 * @param {readonly Mailbox[]} mailboxes
 * @returns {InviteSettings}
 */
function settingsIn(form, mailboxes) {
  const grants = mailboxes.map(({ id }) => ({ mailbox_id: id, preset: textIn(form, fieldOf(id)) }));
  return {
    email: textIn(form, 'email'),
    role: /** @type {Role} */ (textIn(form, 'role')),
    mailbox_grants: grants.filter(({ preset }) => preset !== ''),
  };
}
