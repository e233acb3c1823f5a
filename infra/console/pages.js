/** The pages of the console: who sees which, and the view for each address below them. */
import { accountView } from './account-view.js';
import { agentListView, agentNewView, agentView } from './agent-views.js';
import { ApiError } from './api.js';
import { NEXT as APPLICATION_NEXT } from './application-wording.js';
import { applicationsView } from './applications-view.js';
import { approvalView } from './approval-view.js';
import { connectView } from './connect-view.js';
import { exportView } from './audit-export-view.js';
import { lineView } from './audit-line-view.js';
import { auditView } from './audit-view.js';
import { NEXT as AUDIT_NEXT } from './audit-wording.js';
import { deliveryView } from './delivery-view.js';
import { h } from './dom.js';
import { holdNewView } from './hold-form-view.js';
import { holdListView } from './hold-list-view.js';
import { holdView } from './hold-view.js';
import { NEXT as HOLD_NEXT } from './hold-wording.js';
import { listView } from './list-view.js';
import { reconnectView } from './mailbox-actions.js';
import { mailboxListView, mailboxNewView } from './mailbox-list-view.js';
import { mailboxView } from './mailbox-view.js';
import { NEXT as MAILBOX_NEXT } from './mailbox-wording.js';
import { startView } from './start-view.js';
import { tokenListView } from './token-list-view.js';
import { tokenNewView, tokenView } from './token-view.js';
import { NEXT as TOKEN_NEXT } from './token-wording.js';
import { clientNewView, clientView } from './oauth-client-views.js';
import { organisationNewView, organisationView } from './organisation-view.js';
import { inviteView } from './people-invite-view.js';
import { memberView } from './people-member-view.js';
import { peopleView } from './people-view.js';
import { NEXT as PEOPLE_NEXT } from './people-wording.js';
import { endpointEditView, endpointNewView } from './webhook-form-view.js';
import { webhookListView } from './webhook-list-view.js';
import { webhookView } from './webhook-view.js';
import { NEXT } from './webhook-wording.js';

/** @typedef {import('./main.js').ViewContext} ViewContext */
/** @typedef {import('./names.js').Names} Names */
/** @typedef {import('./sign-in-views.js').View} View */
/** @typedef {{ id: string, query: URLSearchParams }} Place `id`: what the address names, '' for a list */

/**
 * @typedef {object} ConsolePage
 * @property {string} label
 * @property {string} route
 * @property {(names: Names) => boolean} isFor who sees the page in the navigation; the header leads to those that nobody sees there
 * @property {string} [back] where a failure below the page leads, in words
 * @property {Readonly<Record<string, string>>} next advice per error code that is specific to the page
 * @property {readonly (readonly [RegExp, (context: ViewContext, place: Place) => Promise<View>])[]} views
 */

/** @type {ConsolePage} */
const APPROVALS = {
  label: 'Approvals',
  route: '#/approvals',
  isFor: (names) => names.may('approvals:read'),
  next: {},
  views: [
    [/^\/approvals$/, (context, { query }) => listView(context, query)],
    [/^\/approvals\/(chk_[0-9a-z]+)$/, (context, { id }) => approvalView(context, id)],
  ],
};

/** @type {ConsolePage} */
const START = {
  label: 'Getting started',
  back: 'Getting started',
  route: '#/start',
  isFor: (names) => !names.isRoadDone,
  next: MAILBOX_NEXT,
  views: [[/^\/start$/, (context) => startView(context)]],
};

/** @type {ConsolePage} */
const AUDIT = {
  label: 'Audit trail',
  back: 'The audit trail',
  route: '#/audit',
  isFor: (names) => names.may('audit:read'),
  next: AUDIT_NEXT,
  views: [
    [/^\/audit$/, (context, { query }) => auditView(context, query)],
    [/^\/audit\/export$/, (context, { query }) => exportView(context, query)],
    [/^\/audit\/(evt_[0-9a-z]+)$/, (context, { id, query }) => lineView(context, id, query)],
  ],
};

/** @type {readonly ConsolePage[]} */
const PAGES = [
  START,
  APPROVALS,
  {
    label: 'Mailboxes',
    route: '#/mailboxes',
    isFor: (names) => names.may('mailboxes:read'),
    next: MAILBOX_NEXT,
    views: [
      [/^\/mailboxes$/, (context) => mailboxListView(context)],
      [/^\/mailboxes\/new$/, (context) => mailboxNewView(context)],
      [/^\/mailboxes\/(mbx_[0-9a-z]+)$/, (context, { id, query }) => mailboxView(context, id, query)],
      [
        /^\/mailboxes\/(mbx_[0-9a-z]+)\/reconnect$/,
        (context, { id, query }) => reconnectView(context, id, query),
      ],
    ],
  },
  {
    // A person has agents and tokens of their own, whatever the role.
    label: 'Agents',
    route: '#/agents',
    isFor: () => true,
    next: TOKEN_NEXT,
    views: [
      [/^\/agents$/, (context) => agentListView(context)],
      [/^\/agents\/new$/, () => agentNewView()],
      [/^\/agents\/(agt_[0-9a-z]+)$/, (context, { id }) => agentView(context, id)],
    ],
  },
  {
    label: 'Tokens',
    route: '#/tokens',
    isFor: () => true,
    next: TOKEN_NEXT,
    views: [
      [/^\/tokens$/, (context) => tokenListView(context)],
      [/^\/tokens\/new$/, (context, { query }) => tokenNewView(context, query)],
      [/^\/tokens\/(tok_[0-9a-z]+)$/, (context, { id }) => tokenView(context, id)],
    ],
  },
  {
    label: 'Webhooks',
    route: '#/webhooks',
    isFor: (names) => names.may('webhooks:read'),
    next: NEXT,
    views: [
      [/^\/webhooks$/, (context) => webhookListView(context)],
      [/^\/webhooks\/new$/, (context) => endpointNewView(context)],
      [/^\/webhooks\/(whk_[0-9a-z]+)$/, (context, { id, query }) => webhookView(context, id, query)],
      [/^\/webhooks\/(whk_[0-9a-z]+)\/edit$/, (context, { id }) => endpointEditView(context, id)],
      [/^\/deliveries\/(obx_[0-9a-z]+)$/, (context, { id }) => deliveryView(context, id)],
    ],
  },
  {
    label: 'People',
    route: '#/people',
    isFor: (names) => names.may('members:manage'),
    next: PEOPLE_NEXT,
    views: [
      [/^\/people$/, (context) => peopleView(context)],
      [/^\/people\/invite$/, (context) => inviteView(context)],
      [/^\/people\/(usr_[0-9a-z]+)$/, (context, { id }) => memberView(context, id)],
    ],
  },
  {
    label: 'Applications',
    route: '#/applications',
    isFor: (names) => names.may('org:manage'),
    next: APPLICATION_NEXT,
    views: [
      [/^\/applications$/, (context) => applicationsView(context)],
      [/^\/applications\/new$/, (_, { query }) => Promise.resolve(clientNewView(query))],
      [/^\/applications\/(oac_[0-9a-z]+)$/, (context, { id }) => clientView(context, id)],
    ],
  },
  AUDIT,
  {
    label: 'Legal holds',
    route: '#/holds',
    isFor: (names) => names.may('holds:manage'),
    next: HOLD_NEXT,
    views: [
      [/^\/holds$/, (context) => holdListView(context)],
      [/^\/holds\/new$/, (context, { query }) => holdNewView(context, query)],
      [/^\/holds\/(hld_[0-9a-z]+)$/, (context, { id }) => holdView(context, id)],
    ],
  },
  {
    label: 'Connect an application',
    back: 'Your account',
    route: '#/account',
    isFor: () => false,
    next: APPLICATION_NEXT,
    views: [[/^\/connect\/([\w-]{16,64})$/, (context, { id }) => connectView(context, id)]],
  },
  {
    label: 'Account',
    back: 'Your account',
    route: '#/account',
    isFor: () => false,
    next: PEOPLE_NEXT,
    views: [[/^\/account$/, (context) => accountView(context)]],
  },
  {
    label: 'Organisation',
    back: 'The organisation',
    route: '#/organisation',
    isFor: () => false,
    next: PEOPLE_NEXT,
    views: [
      [/^\/organisation$/, (context) => organisationView(context)],
      [/^\/organisation\/new$/, (context) => Promise.resolve(organisationNewView(context))],
    ],
  },
];

/** The address that leads each person to their first page. */
export const HOME = '#/';

/**
 * An auditor begins with the trail.
 * @param {Names} names
 */
function homeOf(names) {
  if (names.session.role === 'auditor') return AUDIT.route;
  return (names.isRoadDone ? APPROVALS : START).route;
}

/** @param {string} hash of the address */
function placeOf(hash) {
  const [path = '', query] = hash.slice(1).split('?');
  for (const page of PAGES) {
    for (const [pattern, show] of page.views) {
      const found = pattern.exec(path);
      if (found) return { page, show, place: { id: found[1] ?? '', query: new URLSearchParams(query) } };
    }
  }
  return null;
}

/** @param {string} hash */
export const isHome = (hash) => hash.length <= HOME.length;

/**
 * The address itself; the first page of this person for an empty one.
 * @param {string} hash
 * @param {Names} names
 */
const wanted = (hash, names) => (isHome(hash) ? homeOf(names) : hash);

/**
 * Throws `ApiError`.
 * @param {ViewContext} context
 * @param {string} hash
 */
export async function viewAt(context, hash) {
  const found = placeOf(wanted(hash, context.names));
  if (found === null) throw new ApiError('no_such_page', 'This page does not exist.');
  return await found.show(context, found.place);
}

/**
 * The page of an address; that of approvals for an unknown address.
 * @param {string} hash
 * @param {Names | null} names null before they are known
 */
export const pageAt = (hash, names) =>
  placeOf(names === null ? hash : wanted(hash, names))?.page ?? APPROVALS;

/**
 * Links to the pages that this person may use.
 * @param {Names} names
 * @param {string} hash
 */
export function navigation(names, hash) {
  const current = placeOf(wanted(hash, names))?.page.route;
  return h(
    'nav',
    { class: 'pages', 'aria-label': 'Pages' },
    PAGES.filter(({ isFor }) => isFor(names)).map(({ label, route }) =>
      h('a', { href: route, 'aria-current': route === current ? 'page' : null }, label),
    ),
  );
}
