/** The bar above every view: the pages, the person, the organisation, and the way out. */
import { h, icon } from './dom.js';
import { foreign } from './foreign-text.js';
import { organisationSwitch } from './organisation-switch.js';
import { HOME, navigation } from './pages.js';

/** @typedef {import('./names.js').Names} Names */

const brand = () =>
  h('a', { class: 'brand', href: HOME }, icon('m3 8.5 3.4 3.4L13 5'), h('span', null, 'Mailbox Gateway'));

/** @param {() => void} signOut */
const outButton = (signOut) =>
  h('button', { type: 'button', class: 'plain', on: { click: signOut } }, 'Sign out');

export const headerBefore = () => [brand()];

/**
 * Of an organisation that can only be restored.
 * @param {Pick<Names, 'session' | 'me'>} whose
 * @param {{ signOut: () => void, switched: () => void }} options
 */
export const headerOfDeleted = (whose, { signOut, switched }) => [
  brand(),
  h('span', { class: 'spring' }),
  h('div', { class: 'who' }, foreign(whose.me.name), organisationSwitch(whose, switched)),
  outButton(signOut),
];

/**
 * @param {Names} names
 * @param {{ hash: string, signOut: () => void, switched: () => void }} options
 */
export const headerOf = (names, { hash, signOut, switched }) => [
  brand(),
  navigation(names, hash),
  h(
    'div',
    { class: 'who' },
    h('a', { href: '#/account' }, foreign(names.me.name)),
    organisationSwitch(names, switched),
  ),
  outButton(signOut),
];
