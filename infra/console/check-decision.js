/** Beside the check: where it stands, who voted, until when, and what this person may do about it. */
import { approve, reject, run, withdraw } from './check-actions.js';
import { outcomeOf } from './check-outcome.js';
import { isOpen, mayDecide, mayRun, mayWithdraw } from './check-rights.js';
import { h } from './dom.js';
import { foreign, foreignLines } from './foreign-text.js';
import { countdown, pastTime } from './times.js';
import { STATUSES } from './wording.js';

/** @import { Approval, Vote } from './payloads.d.ts' */
/** @typedef {import('./child.d.ts').Child} Child */

/**
 * @typedef {object} DecisionOptions
 * @property {Approval} approval
 * @property {string | null} hash of the preview that is shown; null while there is none, and then nothing can be approved
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
    buttonsOf(options),
    votesOf(options),
  );
}

/** @param {DecisionOptions} options */
function factsOf({ approval, reload }) {
  const {
    status,
    quorum,
    policy,
    expires_at: expiresAt,
    commit_at: commitAt,
    content_hash: hash,
    superseded_by: next,
  } = approval;
  const isWaiting = isOpen(approval);
  /** @type {(readonly [string, Child] | null)[]} */
  const facts = [
    isWaiting && commitAt === undefined
      ? [status === 'pending_commit' ? 'To be run within' : 'Time left', countdown(expiresAt, reload)]
      : null,
    isWaiting && commitAt !== undefined ? ['Runs by itself in', countdown(commitAt, reload)] : null,
    quorum.required === 0 ? null : ['Approvals', `${String(quorum.approved)} of ${String(quorum.required)}`],
    quorum.required > 0 && isWaiting ? ['By', approversOf(quorum)] : null,
    ['Policy', ['rule ', foreign(policy.rule_id), `, version ${String(policy.version)}`]],
    ['Content', copyable(hash)],
    next === undefined ? null : ['Asked again as', h('a', { href: `#/approvals/${next}` }, next)],
  ];
  return facts.flatMap((fact) => (fact === null ? [] : [h('dt', null, fact[0]), h('dd', null, fact[1])]));
}

/** @param {Approval['quorum']} quorum */
const approversOf = ({ approver_role: role, exclude_owner: isFourEyes }) =>
  `${role === 'owner' ? 'owners' : `${role}s and above`}${isFourEyes ? ', not by whoever asked' : ''}`;

const SHORT = 12;

/** @param {string} hash */
function copyable(hash) {
  const said = h('span', { role: 'status' });
  const copy = async () => {
    // Only in a secure context; the whole hash is in the element all the same.
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
    isOwn ? h('p', { class: 'quiet small' }, 'Own request.') : null,
    reason === null || reason === '' ? null : h('blockquote', null, foreignLines(reason)),
  );

/** @param {DecisionOptions} options */
function buttonsOf({ approval, hash, names, reload }) {
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
  const deciding = (/** @type {string} */ shown) => [
    button('Approve…', 'primary', () => approve(approval, shown)),
    button('Reject…', 'danger', () => reject(approval, shown)),
  ];
  return h(
    'div',
    { class: 'actions' },
    hash !== null && mayDecide(approval, names) ? deciding(hash) : null,
    hash !== null && mayRun(approval, names)
      ? button('Run it now…', 'primary', () => run(approval, hash))
      : null,
    mayWithdraw(approval, names) ? button('Withdraw…', 'plain', () => withdraw(approval)) : null,
  );
}
