/** The link of an invite. Opening it changes nothing; the button accepts. */
import { cardView } from './card.js';
import { h } from './dom.js';
import { field, newPasswordFields, textIn } from './fields.js';
import { foreign } from './foreign-text.js';
import { formOf } from './form.js';
import { acceptInvite, readInviteLink } from './people-routes.js';
import { aboutRole, roleLabel } from './people-wording.js';
import { exactTime } from './times.js';

/** @import { InviteLink } from './people-payloads.d.ts' */

/**
 * Throws an `ApiError` with the code `invalid_credentials` for an invalid link.
 * @param {{ token: string, onDone: (invite: InviteLink) => void }} options
 * @returns {Promise<import('./sign-in-views.js').View>}
 */
export async function inviteAcceptView({ token, onDone }) {
  const invite = await readInviteLink({ token });
  const isNew = !invite.has_account;
  return cardView(
    'Accept an invite',
    h('p', null, whoInvites(invite), ' to ', h('strong', null, foreign(invite.org.name)), '.'),
    h(
      'dl',
      { class: 'facts' },
      h('dt', null, 'Address'),
      h('dd', null, foreign(invite.email)),
      h('dt', null, 'Role'),
      h(
        'dd',
        null,
        h('strong', null, roleLabel(invite.role)),
        h('p', { class: 'quiet small' }, aboutRole(invite.role)),
      ),
      h('dt', null, 'Open until'),
      h('dd', null, exactTime(invite.expires_at)),
    ),
    isNew ? null : h('p', null, 'You have an account. Sign in with your password afterwards.'),
    formOf(isNew ? newPersonFields(invite) : [], {
      tone: 'primary wide',
      button: isNew ? 'Create the account and join' : 'Join the organisation',
      next: { invalid_credentials: ASK_AGAIN },
      act: async (values) => {
        const person = { name: textIn(values, 'name'), password: textIn(values, 'password') };
        await acceptInvite({ token, ...(isNew ? person : {}) });
        onDone(invite);
      },
    }),
  );
}

export const ASK_AGAIN =
  'Sign in if you have accepted it already. Otherwise ask the person who invited you for a new one.';

/** @param {InviteLink} invite */
const whoInvites = ({ invited_by: by }) =>
  by === null ? 'You are invited' : [h('strong', null, foreign(by.name)), ' invites you'];

/** @param {InviteLink} invite */
const newPersonFields = ({ email }) => [
  h('input', { type: 'hidden', name: 'username', autocomplete: 'username', value: email }),
  field('name', 'Your name', { autocomplete: 'name', maxlength: 100 }),
  newPasswordFields('password', 'Password'),
];
