/** What the gateway holds of a person, as a file, and the end of the account. */
import { actionButton } from './action-button.js';
import { askTyped } from './dialog.js';
import { h } from './dom.js';
import { card } from './page-parts.js';
import { deleteMe, exportMe } from './people-routes.js';
import { saveAs } from './save-as.js';

/** @typedef {import('./main.js').ViewContext} ViewContext */

/** @param {ViewContext} context */
export function exportCard({ announce }) {
  const problem = h('div', { 'aria-live': 'assertive' });
  const save = actionButton('Download your data', {
    problem,
    act: async () => {
      const text = JSON.stringify(await exportMe(), null, 2);
      saveAs('mailbox-gateway-account.json', new Blob([text], { type: 'application/json' }));
      announce('The file is being saved.');
    },
  });
  return card(
    'data',
    'Your data',
    h(
      'p',
      null,
      'What the gateway holds of you: account, organisations, sessions, tokens, agents, and what you did.',
    ),
    save,
    problem,
  );
}

/** @param {ViewContext} context */
export function endCard({ names, leave }) {
  const problem = h('div', { 'aria-live': 'assertive' });
  const { email } = names.me;
  const end = actionButton('Delete your account…', {
    tone: 'danger',
    problem,
    act: async () => {
      await askTyped({
        title: 'Delete your account?',
        about:
          'You leave every organisation. Your tokens end, and your agents are deleted. Your name and address are erased; it cannot be undone.',
        wanted: email,
        confirm: 'Delete account',
        next: { last_owner: 'Make someone else an owner there first, or delete that organisation.' },
        act: async () => {
          await deleteMe();
          leave('Your account is deleted.');
        },
      });
    },
  });
  return card(
    'end',
    'Delete the account',
    h('p', null, 'An organisation must keep an owner: hand over those that only you own first.'),
    end,
    problem,
  );
}
