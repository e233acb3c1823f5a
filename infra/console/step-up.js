/** The password once more: deciding wants to know that it is still the same person. */
import { ApiError } from './api.js';
import { ask } from './dialog.js';
import { h } from './dom.js';
import { passwordField, textIn } from './fields.js';
import { confirmPassword } from './routes.js';

/** Asks until the password is right. Throws `ApiError` when the person would rather not. */
export async function stepUp() {
  const isDone = await ask({
    title: 'Confirm it is you',
    content: [
      h('p', null, 'Decisions need your password from the last 15 minutes.'),
      passwordField('password', 'Password', { autocomplete: 'current-password', autofocus: true }),
    ],
    confirm: 'Confirm',
    act: (form) => confirmPassword(textIn(form, 'password')),
  });
  if (!isDone) throw new ApiError('step_up_required', 'Nothing was done: your password was not confirmed.');
}
