/** Shows an error of the gateway: its message, and what to do next. */
import { ApiError } from './api.js';
import { h } from './dom.js';
import { foreign } from './foreign-text.js';

/** @type {Readonly<Record<string, string>>} */
const NEXT = {
  email_unverified: 'Open the link that verifies your address. Your account page has it sent again.',
  insufficient_scope: 'Your role does not include this. Ask an owner or admin of the organisation.',
  not_an_approver: 'Someone with the role named in the policy has to decide.',
  self_approval_forbidden: 'It was requested in your name, so someone else has to decide.',
  no_eligible_approver: 'An owner has to give someone the role named in the policy.',
  approval_not_pending: 'It has been decided already. The page shows the decision.',
  approval_expired: 'Nothing was run. It can be requested again.',
  approval_invalidated: 'Nothing was run. It can be requested again.',
  approval_pending: 'It is still waiting for approval.',
  selection_changed: 'The mailbox changed since the request. Nothing was run; it can be requested again.',
  version_conflict: 'It changed since it was shown. Read it again before you decide.',
  not_found: 'The link may be wrong, or the approval is about mail you may not see.',
  no_such_page: 'Check the address, or go to the list of approvals.',
  origin_not_allowed: 'Open the console under the address the gateway is set up with (BASE_URL).',
  policy_denied: "The organisation's policy forbids it.",
  legal_hold: 'It is kept until the hold is released. Owners and admins see the legal holds.',
  outcome_unknown: 'The gateway finds out and never repeats it. The page shows the result.',
  provider_timeout: 'The mail server is slow and the work continues. The page shows the result.',
  mailbox_auth_failed: 'Someone has to store new credentials for the mailbox.',
  mailbox_unavailable: 'The mail server cannot be reached now; try again later.',
};

/** Codes for which a retry may succeed. */
const PASSING = [
  'unreachable',
  'unreadable',
  'store_unavailable',
  'overloaded',
  'rate_limited',
  'internal_error',
];

/** @param {unknown} error */
export const mayPass = (error) => error instanceof ApiError && PASSING.includes(error.code);

/**
 * `next`: advice per code that is specific to this page. `isRetried`: the page retries automatically.
 * @param {unknown} error
 * @param {{ title?: string, role?: 'alert' | null, next?: Readonly<Record<string, string>>, isRetried?: boolean }} [options]
 */
export function errorNotice(error, { title, role = 'alert', next = {}, isRetried = false } = {}) {
  return h(
    'div',
    { class: 'notice bad', role },
    title === undefined ? null : h('p', { class: 'notice-title' }, title),
    error instanceof ApiError ? refused(error, adviceOn(error, { next, isRetried })) : failed(),
  );
}

/**
 * @param {ApiError} error
 * @param {{ next: Readonly<Record<string, string>>, isRetried: boolean }} options
 */
function adviceOn(error, { next, isRetried }) {
  const { code, retryAfterSeconds: wait } = error;
  if (isRetried && mayPass(error)) return 'This page tries again in a few seconds.';
  if (code === 'unreachable') return 'Check your connection, then try again.';
  return next[code] ?? NEXT[code] ?? (wait === null ? undefined : `Try again in ${String(wait)} s.`);
}

/**
 * @param {ApiError} error
 * @param {string | undefined} next
 */
function refused({ message, issues, requestId }, next) {
  return [
    h('p', null, foreign(message)),
    issues.length === 0
      ? null
      : h(
          'ul',
          null,
          issues.map((issue) => h('li', null, foreign(issue.message))),
        ),
    next === undefined ? null : h('p', { class: 'quiet' }, next),
    requestId === null ? null : h('p', { class: 'quiet small' }, 'Request ', h('code', null, requestId)),
  ];
}

const failed = () => [
  h('p', null, 'This page failed.'),
  h('p', { class: 'quiet' }, 'Reload it; if that does not help, contact your administrator.'),
];
