/** The pages of the console: who sees which, and the view for each address below them. */
import { ApiError } from './api.js';
import { approvalView } from './approval-view.js';
import { deliveryView } from './delivery-view.js';
import { h } from './dom.js';
import { listView } from './list-view.js';
import { endpointEditView, endpointNewView } from './webhook-form-view.js';
import { webhookListView } from './webhook-list-view.js';
import { webhookView } from './webhook-view.js';
import { NEXT } from './webhook-wording.js';

/** @typedef {import('./main.js').ViewContext} ViewContext */
/** @typedef {import('./sign-in-views.js').View} View */
/** @typedef {{ id: string, query: URLSearchParams }} Place `id`: what the address names, '' for a list */

/**
 * @typedef {object} ConsolePage
 * @property {string} label
 * @property {string} route
 * @property {string} scope who has it sees the page in the navigation
 * @property {Readonly<Record<string, string>>} next advice per error code that is specific to the page
 * @property {readonly (readonly [RegExp, (context: ViewContext, place: Place) => Promise<View>])[]} views
 */

/** @type {readonly [ConsolePage, ...ConsolePage[]]} */
const PAGES = [
  {
    label: 'Approvals',
    route: '#/approvals',
    scope: 'approvals:read',
    next: {},
    views: [
      [/^\/approvals$/, (context, { query }) => listView(context, query)],
      [/^\/approvals\/(chk_[0-9a-z]+)$/, (context, { id }) => approvalView(context, id)],
    ],
  },
  {
    label: 'Webhooks',
    route: '#/webhooks',
    scope: 'webhooks:read',
    next: NEXT,
    views: [
      [/^\/webhooks$/, (context) => webhookListView(context)],
      [/^\/webhooks\/new$/, (context) => endpointNewView(context)],
      [/^\/webhooks\/(whk_[0-9a-z]+)$/, (context, { id, query }) => webhookView(context, id, query)],
      [/^\/webhooks\/(whk_[0-9a-z]+)\/edit$/, (context, { id }) => endpointEditView(context, id)],
      [/^\/deliveries\/(obx_[0-9a-z]+)$/, (context, { id }) => deliveryView(context, id)],
    ],
  },
];

export const HOME = PAGES[0].route;

/** @param {string} hash of the address; empty for the first page */
function placeOf(hash) {
  const [path = '', query] = (hash.length > 2 ? hash : HOME).slice(1).split('?');
  for (const page of PAGES) {
    for (const [pattern, show] of page.views) {
      const found = pattern.exec(path);
      if (found) return { page, show, place: { id: found[1] ?? '', query: new URLSearchParams(query) } };
    }
  }
  return null;
}

/**
 * Throws `ApiError`.
 * @param {ViewContext} context
 * @param {string} hash
 */
export async function viewAt(context, hash) {
  const found = placeOf(hash);
  if (found === null) throw new ApiError('no_such_page', 'This page does not exist.');
  return await found.show(context, found.place);
}

/**
 * The page of an address; the first one for an unknown address.
 * @param {string} hash
 */
export const pageAt = (hash) => placeOf(hash)?.page ?? PAGES[0];

/**
 * Links to the pages that this person may use.
 * @param {import('./names.js').Names} names
 * @param {string} hash
 */
export const navigation = (names, hash) =>
  h(
    'nav',
    { class: 'pages', 'aria-label': 'Pages' },
    PAGES.filter(({ scope }) => names.may(scope)).map(({ label, route }) =>
      h('a', { href: route, 'aria-current': placeOf(hash)?.page.route === route ? 'page' : null }, label),
    ),
  );
