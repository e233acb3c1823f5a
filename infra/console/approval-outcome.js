/** What became of an approval: why it ended, and what its commit did. */
import { h } from './dom.js';
import { foreign, foreignLines } from './foreign-text.js';

/** @import { Approval } from './payloads.d.ts' */

/** @type {Readonly<Record<string, string>>} */
const INVALIDATIONS = {
  approver_gone: 'Somebody who had approved may not decide any more.',
  draft_discarded: 'The draft was discarded.',
  grant_gone: 'The requester has no right to this mailbox any more.',
  mailbox_removed: 'The mailbox was removed.',
  manifest_mismatch: 'What would run is not what was approved.',
  policy_stricter: 'The policy is stricter now.',
  requester_gone: 'The requester is not there any more.',
  targets_gone: 'The messages are not where they were.',
};

/** @param {Approval} approval */
export function outcomeOf({ invalidated, cancel_reason: cancelReason, execution }) {
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
  const told = ['done', 'failed', 'unknown', 'skipped'].filter((outcome) => count(outcome) > 0);
  const errors = [
    ...(error ? [error] : []),
    ...results.flatMap((result) => (result.error ? [result.error] : [])),
  ];
  const messages = new Set(errors.map(({ message }) => message));
  return [
    told.length === 0
      ? null
      : h(
          'p',
          { class: 'outcome' },
          told.map((outcome) => `${String(count(outcome))} ${outcome}`).join(', '),
        ),
    attempts > 1 ? h('p', { class: 'quiet small' }, `${String(attempts)} attempts`) : null,
    [...messages].map((message) => h('p', { class: 'notice bad' }, foreign(message))),
  ];
}
