/** A refusal of the gateway as a person reads it: its own words, and what to do next. */
import { ApiError } from './api.js';
import { h } from './dom.js';
import { foreign } from './foreign-text.js';

/** @type {Readonly<Record<string, string>>} */
const NEXT = {
  invalid_credentials:
    'Check the address and the password. After wrong tries the next one has to wait longer.',
  email_unverified: 'Open the link that was sent to your address, then sign in.',
  insufficient_scope: 'Your role does not include this. Ask an owner or admin of the organisation.',
  not_an_approver: 'Somebody with the role the policy names has to decide.',
  self_approval_forbidden: 'It was asked for in your name, so somebody else has to decide.',
  no_eligible_approver: 'An owner has to give somebody the role the policy names.',
  approval_not_pending: 'It was decided meanwhile. Its state is shown below.',
  approval_expired: 'Nothing ran. Whoever needs it can ask again.',
  approval_invalidated: 'Nothing ran. Whoever needs it can ask again.',
  approval_pending: 'It still waits for approval.',
  selection_changed:
    'The mailbox changed since this was asked for. Nothing ran; whoever needs it can ask again.',
  version_conflict: 'It changed since it was shown. Read it again before you decide.',
  not_found: 'The link may be wrong, or the check belongs to mail you may not see.',
  origin_not_allowed: 'Open the console under the address the gateway is set up with (BASE_URL).',
  policy_denied: "The organisation's policy forbids it.",
  unreachable: 'Check your connection. It is tried again by itself.',
  rate_limited: 'Wait a moment and try again.',
  outcome_unknown: 'It is looked up by itself and never repeated. The state below follows.',
  provider_timeout: 'The mail server is slow and the work goes on. The state below follows.',
  mailbox_auth_failed: 'Somebody has to store new credentials for the mailbox.',
  mailbox_unavailable: 'The mail server cannot be reached now; try again later.',
};

/**
 * @param {unknown} error
 * @param {{ title?: string, role?: 'alert' | null }} [options]
 */
export function errorNotice(error, { title, role = 'alert' } = {}) {
  return h(
    'div',
    { class: 'notice bad', role },
    title === undefined ? null : h('p', { class: 'notice-title' }, title),
    error instanceof ApiError ? refused(error) : failed(),
  );
}

/** @param {ApiError} error */
function refused({ code, message, issues, retryAfterSeconds, requestId }) {
  const wait = retryAfterSeconds === null ? undefined : `Try again in ${String(retryAfterSeconds)} s.`;
  const next = NEXT[code] ?? wait;
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
  h('p', { class: 'quiet' }, 'Reload it; if that does not help, tell whoever runs the gateway.'),
];
