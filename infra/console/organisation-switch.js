/** The organisation of this session, and the way to another one of the same person. */
import { actionButton } from './action-button.js';
import { h } from './dom.js';
import { foreign } from './foreign-text.js';
import { switchOrganisation } from './people-routes.js';
import { roleLabel } from './people-wording.js';
import { session } from './session.js';

/** @typedef {Pick<import('./names.js').Names, 'session' | 'me'>} Whose */

/**
 * Continues in another organisation: the session of this one ends.
 * @param {string} id
 */
export async function continueIn(id) {
  const { session_token: bearer } = await switchOrganisation(id);
  session.begin(bearer);
}

/**
 * @param {Whose} whose
 * @param {() => void} switched called when this tab is in the other organisation
 */
export function organisationSwitch({ session: { org }, me }, switched) {
  const others = me.organisations.filter(({ id }) => id !== org.id);
  if (others.length === 0) return h('a', { class: 'quiet', href: '#/organisation' }, foreign(org.name));
  const problem = h('div', { 'aria-live': 'assertive' });
  const button = (/** @type {(typeof others)[number]} */ { id, name, role, erase_at: eraseAt }) => {
    const element = actionButton('', {
      problem,
      act: async () => {
        await continueIn(id);
        switched();
      },
    });
    element.append(
      h('span', { class: 'unseen' }, 'Switch to '),
      foreign(name),
      h('span', { class: 'quiet small' }, ` ${eraseAt === null ? roleLabel(role) : 'Deleted'}`),
    );
    return h('li', null, element);
  };
  const menu = h(
    'details',
    { class: 'switch' },
    h('summary', { title: 'Switch organisation' }, foreign(org.name)),
    h(
      'div',
      { class: 'menu' },
      h('a', { href: '#/organisation' }, 'About ', foreign(org.name)),
      h('p', { class: 'quiet small' }, 'Switch to'),
      h('ul', { class: 'plain-list', 'aria-label': 'Your other organisations' }, others.map(button)),
      problem,
    ),
  );
  menu.addEventListener('keydown', ({ key }) => {
    if (key !== 'Escape') return;
    menu.open = false;
    menu.querySelector('summary')?.focus();
  });
  menu.addEventListener('focusout', ({ relatedTarget }) => {
    if (relatedTarget instanceof Node && !menu.contains(relatedTarget)) menu.open = false;
  });
  return menu;
}
