/** The password once more, so that a decision is known to be the person's own. */
import { ApiError } from './api.js';
import { ask } from './dialog.js';
import { h } from './dom.js';
import { AFTER_WRONG_TRIES, passwordField, textIn } from './fields.js';
import { confirmPassword } from './routes.js';

/** Asks until the password is right. Throws `ApiError` when the person would rather not. */
export async function stepUp() {
  const isDone = await ask({
    title: 'Confirm it is you',
    content: [
      h('p', null, 'Enter your password again to confirm. You will not be asked for another 15 minutes.'),
      passwordField('password', 'Password', { autocomplete: 'current-password', autofocus: true }),
    ],
    confirm: 'Confirm',
    next: { invalid_credentials: `Type it again. ${AFTER_WRONG_TRIES}` },
    act: (form) => confirmPassword(textIn(form, 'password')),
  });
  if (!isDone) throw new ApiError('step_up_required', 'Nothing was done: your password was not confirmed.');
}
