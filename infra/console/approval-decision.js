/** The decision card: status, votes, time left, and what this person may do. */
import { approve, reject, run, withdraw } from './approval-actions.js';
import { isOpen, isOwnRequest, mayDecide, mayRun, mayWithdraw, whyNotDecide } from './approval-rights.js';
import { h } from './dom.js';
import { foreign, foreignLines } from './foreign-text.js';
import { countdown, pastTime, spanText } from './times.js';
import { isDestructive, STATUSES } from './wording.js';

/** @import { Approval, Vote } from './payloads.d.ts' */
/** @typedef {import('./payloads.d.ts').Child} Child */
/** @typedef {import('./approval-actions.js').Shown} Shown */

/**
 * @typedef {object} DecisionOptions
 * @property {Approval} approval
 * @property {Shown | null} shown by the preview; null while there is none: nothing can be approved then
 * @property {import('./names.js').Names} names
 * @property {() => void} reload
 */

/** @param {DecisionOptions} options */
export function decisionCard(options) {
  const { approval } = options;
  const { about } = STATUSES[approval.status];
  return h(
    'section',
    { class: 'card', 'aria-labelledby': 'decision' },
    h('h2', { id: 'decision', tabindex: -1 }, 'Decision'),
    h('p', null, about),
    outcomeOf(approval),
    h('dl', { class: 'facts narrow-facts' }, factsOf(options)),
    ownRequestOf(options),
    buttonsOf(options),
    votesOf(options),
  );
}

/**
 * Tells approvers that the request is their own or their agent's.
 * @param {DecisionOptions} options
 */
function ownRequestOf({ approval, names }) {
  if (approval.status !== 'awaiting_approval' || !isOwnRequest(approval)) return null;
  const asks = names.isMe(approval.requester.id) ? 'You requested this.' : 'Your own agent requested this.';
  return h('p', { class: 'notice' }, asks);
}

/** @param {DecisionOptions} options */
function factsOf({ approval, names, reload }) {
  const { status, quorum, policy, content_hash: hash, superseded_by: next } = approval;
  const isWaiting = isOpen(approval);
  /** @type {(readonly [string, Child] | null)[]} */
  const facts = [
    isWaiting ? timeLeft(approval, names, reload) : null,
    status === 'awaiting_approval' ? afterwards(approval, names) : null,
    quorum.required === 0 ? null : ['Approvals', `${String(quorum.approved)} of ${String(quorum.required)}`],
    quorum.required > 0 && isWaiting ? ['By', approversOf(quorum)] : null,
    status === 'awaiting_approval' ? yourPart(approval, names) : null,
    ['Policy', ['rule ', foreign(policy.rule_id), `, version ${String(policy.version)}`]],
    ['Content', copyable(hash)],
    next === undefined ? null : ['Replaced by', h('a', { href: `#/approvals/${next}` }, next)],
  ];
  return facts.flatMap((fact) => (fact === null ? [] : [h('dt', null, fact[0]), h('dd', null, fact[1])]));
}

/**
 * @param {{ id: string }} runBy
 * @param {import('./names.js').Names} names
 */
const runnerOf = ({ id }, names) => (names.isMe(id) ? 'you' : foreign(names.nameOf(id)));

/**
 * @param {Approval} approval
 * @param {import('./names.js').Names} names
 * @param {() => void} reload
 * @returns {readonly [string, Child]}
 */
function timeLeft({ status, expires_at: expiresAt, commit_at: commitAt, run_by: runBy }, names, reload) {
  if (commitAt !== undefined) return ['Runs in', countdown(commitAt, reload)];
  if (status === 'awaiting_approval') return ['Time left', countdown(expiresAt, reload)];
  return runBy === undefined
    ? ['Runs within', countdown(expiresAt, reload)]
    : ['Waiting for', [runnerOf(runBy, names), ' to run it · ', countdown(expiresAt, reload)]];
}

/**
 * @param {Approval} approval
 * @param {import('./names.js').Names} names
 * @returns {readonly [string, Child]}
 */
const afterwards = ({ run_by: runBy }, names) => [
  'Once approved',
  runBy === undefined
    ? 'the gateway runs it'
    : [runnerOf(runBy, names), ` has ${spanText(runBy.within_seconds)} to run it`],
];

/**
 * @param {Approval} approval
 * @param {import('./names.js').Names} names
 * @returns {readonly [string, Child]}
 */
const yourPart = (approval, names) => ['You', whyNotDecide(approval, names) ?? 'can decide'];

/** @param {Approval['quorum']} quorum */
const approversOf = ({ approver_role: role, exclude_owner: isFourEyes }) =>
  `${role === 'owner' ? 'owners' : `${role}s and above`}${isFourEyes ? ', not the requester' : ''}`;

const SHORT = 12;

/** @param {string} hash */
function copyable(hash) {
  const said = h('span', { role: 'status' });
  const copy = async () => {
    // Only in a secure context; the element holds the whole hash anyway.
    await navigator.clipboard.writeText(hash);
    said.textContent = 'copied';
  };
  const button = h('button', { type: 'button', class: 'link', on: { click: () => void copy() } }, 'Copy');
  return [
    h(
      'code',
      { title: hash, class: 'hash' },
      hash.slice(0, SHORT),
      h('span', { class: 'unseen' }, hash.slice(SHORT)),
    ),
    ' ',
    'clipboard' in navigator ? button : null,
    ' ',
    said,
  ];
}

/** @param {DecisionOptions} options */
function votesOf({ approval, names }) {
  if (approval.votes.length === 0) return null;
  return [
    h('h3', null, 'Votes'),
    h(
      'ul',
      { class: 'votes' },
      approval.votes.map((vote) => voteOf(vote, names)),
    ),
  ];
}

/**
 * @param {Vote} vote
 * @param {import('./names.js').Names} names
 */
const voteOf = ({ by, decision, reason, at, own_request: isOwn }, names) =>
  h(
    'li',
    null,
    h(
      'p',
      null,
      foreign(names.nameOf(by)),
      decision === 'approve' ? ' approved ' : ' rejected ',
      h('span', { class: 'quiet small' }, pastTime(at)),
    ),
    isOwn ? h('p', { class: 'quiet small' }, 'Their own request.') : null,
    reason === null || reason === '' ? null : h('blockquote', null, foreignLines(reason)),
  );

/** @param {DecisionOptions} options */
function buttonsOf({ approval, shown, names, reload }) {
  const button = (
    /** @type {string} */ label,
    /** @type {string} */ tone,
    /** @type {() => Promise<boolean>} */ act,
  ) => {
    const click = async () => {
      if (await act()) reload();
    };
    return h('button', { type: 'button', class: `${tone} wide`, on: { click: () => void click() } }, label);
  };
  const [yes, no] = isDestructive(approval) ? ['danger solid', 'plain'] : ['primary', 'danger'];
  const deciding = (/** @type {Shown} */ seen) => [
    button('Approve…', yes, () => approve(approval, seen, names)),
    button('Reject…', no, () => reject(approval, seen)),
  ];
  return h(
    'div',
    { class: 'actions' },
    shown !== null && mayDecide(approval, names) ? deciding(shown) : null,
    shown !== null && mayRun(approval, names) ? button('Run it now…', yes, () => run(approval, shown)) : null,
    mayWithdraw(approval, names) ? button('Withdraw…', 'plain', () => withdraw(approval)) : null,
  );
}

/** @type {Readonly<Record<string, string>>} */
const INVALIDATIONS = {
  approver_gone: 'An approver may no longer decide.',
  draft_discarded: 'The draft was discarded.',
  grant_gone: 'The requester has no access to this mailbox any more.',
  mailbox_removed: 'The mailbox was removed.',
  manifest_mismatch: 'What would run is not what was approved.',
  policy_stricter: 'The policy has become stricter.',
  requester_gone: 'The requester no longer exists.',
  targets_gone: 'The messages are no longer where they were.',
};

/** @param {Approval} approval */
function outcomeOf({ invalidated, cancel_reason: cancelReason, execution }) {
  return [
    invalidated === undefined ? null : h('p', null, INVALIDATIONS[invalidated.reason] ?? invalidated.reason),
    cancelReason == null ? null : h('blockquote', { class: 'reason' }, foreignLines(cancelReason)),
    execution === undefined ? null : resultsOf(execution),
  ];
}

/** @param {NonNullable<Approval['execution']>} execution */
function resultsOf({ results, error, attempts }) {
  const count = (/** @type {string} */ outcome) =>
    results.filter((result) => result.outcome === outcome).length;
  const counted = ['done', 'failed', 'unknown', 'skipped'].filter((outcome) => count(outcome) > 0);
  const errors = [
    ...(error ? [error] : []),
    ...results.flatMap((result) => (result.error ? [result.error] : [])),
  ];
  const messages = new Set(errors.map(({ message }) => message));
  return [
    counted.length === 0
      ? null
      : h(
          'p',
          { class: 'outcome' },
          counted.map((outcome) => `${String(count(outcome))} ${outcome}`).join(', '),
        ),
    attempts > 1 ? h('p', { class: 'quiet small' }, `${String(attempts)} attempts`) : null,
    [...messages].map((message) => h('p', { class: 'notice bad' }, foreign(message))),
  ];
}
