/** Tells a person on every page that the address of the account is not verified yet. */
import { actionButton } from './action-button.js';
import { h } from './dom.js';
import { foreign } from './foreign-text.js';
import { byMail } from './installation.js';
import { resendVerification } from './people-routes.js';

/**
 * A button that has the mail sent again, and says so in its place.
 * @param {string} email
 */
export function resendButton(email) {
  const place = h('div', { class: 'resend' });
  const problem = h('div');
  const button = actionButton(byMail('Send the mail again', 'Make a new link'), {
    problem,
    act: async () => {
      await resendVerification({ email });
      const text = byMail('Sent. Look among unwanted mail too.');
      const told = h('p', { role: 'status', tabindex: -1 }, text);
      place.replaceChildren(told);
      told.focus();
    },
  });
  place.append(button, problem);
  return place;
}

/** @param {import('./names.js').Names | null} names */
export function verifiedNotice(names) {
  if (names === null || names.me.is_verified) return null;
  const { email } = names.me;
  return h(
    'div',
    { class: 'notice unverified' },
    h(
      'p',
      null,
      h('strong', null, 'Verify your address. '),
      'Until you open its link, you can look around but not send, invite, decide, or connect anything. ',
      byMail(['The link was sent to ', foreign(email), '.']),
    ),
    resendButton(email),
  );
}
