/** All that the session of an owner shows while the organisation is deleted. */
import { actionButton } from './action-button.js';
import { cardView } from './card.js';
import { h } from './dom.js';
import { foreign } from './foreign-text.js';
import { changeOrganisation, readOrganisation } from './people-routes.js';
import { exactTime } from './times.js';

/**
 * @param {import('./payloads.d.ts').Session} session
 * @param {() => void} reload
 */
export async function deletedOrganisationView({ org }, reload) {
  const { deletion } = await readOrganisation();
  const problem = h('div', { 'aria-live': 'assertive' });
  return cardView(
    'This organisation is deleted',
    h(
      'p',
      null,
      h('strong', null, foreign(org.name)),
      deletion === null
        ? ' is here again.'
        : [' is kept until ', exactTime(deletion.erase_at), ', then it is erased.'],
    ),
    h('p', null, 'Until then an owner can restore it. Agents, grants and mailboxes then work again; people sign in again, and tokens have to be issued again.'), // prettier-ignore
    actionButton('Restore the organisation', {
      tone: 'primary wide',
      problem,
      act: async () => {
        await changeOrganisation({ restore: true });
        reload();
      },
    }),
    problem,
  );
}
