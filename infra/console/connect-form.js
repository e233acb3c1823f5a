/** What a person allows an application: scopes, mailboxes and time. Only the two buttons decide. */
import { actionButton } from './action-button.js';
import { ApiError } from './api.js';
import { decideAuthorizationRequest } from './application-routes.js';
import { checkedIn, checkGroup, radios } from './choices.js';
import { h } from './dom.js';
import { selectField, textIn } from './fields.js';
import { foreign } from './foreign-text.js';
import { formOf } from './form.js';
import { card } from './page-parts.js';
import { isGrave, scopeFields, tickedAtFirst } from './scope-wording.js';

/** @import { AuthorizationRequest } from './application-payloads.d.ts' */

/**
 * @typedef {object} Deciding
 * @property {string} token
 * @property {AuthorizationRequest} request
 * @property {(decided: { to: string, isAllowed: boolean }) => void} onDecided
 */

const AGAIN = 'Go back to the application and connect again.';

/** @type {Readonly<Record<string, string>>} */
const NEXT = {
  not_found: AGAIN,
  conflict: `If it was not you who decided, refuse what you do not know and look at your connections. ${AGAIN}`,
  insufficient_scope: 'Your own rights have changed meanwhile. Reload the page to see what you can allow.',
  step_up_required: 'Press the button again and confirm your password.',
};

/** @param {Deciding} deciding */
export function connectForm({ token, request, onDecided }) {
  const problem = h('div', { 'aria-live': 'assertive' });
  const refuse = refuseButton({ token, request, onDecided, problem });
  if (request.scopes.length === 0) return nothingToAllow(refuse, problem);
  return formOf([scopesCard(request), mailboxesCard(request), timeCard(request), problem], {
    button: 'Allow',
    beside: refuse,
    next: NEXT,
    act: async (values) => {
      const { redirect_to: to } = await decideAuthorizationRequest({
        consent_token: token,
        org_id: request.organisation.id,
        decision: 'allow',
        ...termsIn(values),
      });
      onDecided({ to, isAllowed: true });
    },
  });
}

/** @param {Deciding & { problem: HTMLElement }} deciding */
export const refuseButton = ({ token, request, onDecided, problem }) =>
  actionButton('Refuse', {
    problem,
    next: NEXT,
    act: async () => {
      const { redirect_to: to } = await decideAuthorizationRequest({
        consent_token: token,
        org_id: request.organisation.id,
        decision: 'deny',
      });
      onDecided({ to, isAllowed: false });
    },
  });

/**
 * @param {HTMLElement} refuse
 * @param {HTMLElement} problem
 */
const nothingToAllow = (refuse, problem) =>
  card(
    'scopes',
    'What it may do',
    h('p', null, 'Nothing: you hold none of the rights that it asks for in this organisation.'),
    problem,
    h('div', { class: 'buttons' }, refuse),
  );

/** @param {AuthorizationRequest} request */
function scopesCard({ scopes }) {
  const ticked = tickedAtFirst(scopes);
  const isLeftOut = scopes.some((scope) => isGrave(scope) && !ticked.has(scope));
  return card(
    'scopes',
    'What it may do',
    isLeftOut
      ? h(
          'p',
          null,
          'It also asks for rights that reach others or cannot be undone. They are not ticked: tick them only if you want that.',
        )
      : null,
    scopeFields(scopes, ticked),
    h(
      'p',
      { class: 'quiet small' },
      'Never more than you may do yourself. The policy of the organisation applies, and it can approve nothing.',
    ),
  );
}

/** @param {AuthorizationRequest} request */
function mailboxesCard({ mailboxes, scopes }) {
  const choices = mailboxes.map((each) => ({
    value: each.id,
    label: foreign(each.email),
    ...(ofMailboxes(scopes).every((scope) => each.scopes.includes(scope))
      ? {}
      : { about: 'You hold only some of these rights there.' }),
  }));
  const all = {
    value: 'all',
    label: 'All mailboxes',
    about: 'Those that you may use now, and those that come later.',
  };
  const some = {
    value: 'some',
    label: 'Only these mailboxes',
    content: checkGroup(
      'mailbox_ids',
      'Mailboxes',
      choices,
      new Set(mailboxes.length === 1 ? mailboxes.map(({ id }) => id) : []),
    ),
  };
  const hasNone = mailboxes.length === 0;
  return h(
    'section',
    { class: 'card' },
    radios('which_mailboxes', 'On which mailboxes', hasNone ? [all] : [some, all], hasNone ? 'all' : 'some'),
    hasNone ? h('p', { class: 'quiet small' }, 'You have none in this organisation yet.') : null,
  );
}

/**
 * Those that a person holds on a mailbox, not in the organisation.
 * @param {readonly string[]} scopes
 */
const ofMailboxes = (scopes) => scopes.filter((each) => !['mailboxes:read', 'approvals:read'].includes(each));

const DAYS = [30, 7, 90, 365];

/** @param {AuthorizationRequest} request */
function timeCard({ default_days: usual, most_days: most }) {
  const offered = [...new Set([usual, ...DAYS])].filter((days) => days <= most);
  return h(
    'section',
    { class: 'card' },
    selectField(
      'days',
      'For how long',
      offered.map((days) => [String(days), days === 365 ? 'One year' : `${String(days)} days`]),
    ),
    h(
      'p',
      { class: 'quiet small' },
      'Then it has to ask again. You can disconnect it earlier on your account page.',
    ),
  );
}

/**
 * Throws `ApiError` without a scope or a mailbox.
 * @param {FormData} values
 */
function termsIn(values) {
  const scopes = checkedIn(values, 'scopes');
  if (scopes.length === 0)
    throw new ApiError('not_chosen', 'Choose at least one thing that it may do, or refuse it.');
  const ids = textIn(values, 'which_mailboxes') === 'all' ? null : checkedIn(values, 'mailbox_ids');
  if (ids?.length === 0) throw new ApiError('not_chosen', 'Choose at least one mailbox, or all of them.');
  return { scopes, mailbox_ids: ids, expires_in_days: Number(textIn(values, 'days')) };
}
