/** Lines of the audit trail in plain words: outcomes, what is not shown, and where what they name is. */
import { badgeOf, CHECK, CLOCK, CROSS, DASH, QUESTION } from './badges.js';
import { h } from './dom.js';
import { foreign } from './foreign-text.js';
import { pageOfId } from './pages-of-ids.js';

/** @import { AuditOutcome, TrailLine } from './audit-payloads.d.ts' */
/** @typedef {import('./badges.js').StatusWords} StatusWords */
/** @typedef {import('./names.js').Names} Names */

/**
 * What to do after an error on these pages.
 * @type {Readonly<Record<string, string>>}
 */
export const NEXT = {
  not_found: 'The link may be wrong, or the line is of another organisation.',
  insufficient_scope: 'Owners, admins and auditors read the audit trail.',
  seal_behind: 'The sealer is behind, or the seal is broken: the words above say it. Try again shortly.',
  rate_limited: 'At most ten a minute. Wait a little.',
  index_building: 'The trail is being built again from the log. Try again shortly.',
};

/** @type {Readonly<Record<AuditOutcome, StatusWords>>} */
export const OUTCOMES = {
  allowed: { label: 'Done', tone: 'good', path: CHECK, about: 'It was allowed and done.' },
  denied: { label: 'Denied', tone: 'bad', path: CROSS, about: 'It was refused.' },
  pending: { label: 'Open', tone: 'go', path: CLOCK, about: 'Its outcome is another line.' },
  failed: { label: 'Failed', tone: 'bad', path: CROSS, about: 'It was tried and failed.' },
};

/** @type {Readonly<Record<'unreadable' | 'hidden' | 'erased' | 'unsealed', StatusWords>>} */
const MARKS = {
  unreadable: {
    label: 'Unreadable',
    tone: 'ask',
    path: QUESTION,
    about:
      'This version of the gateway does not know the event, or cannot read it. Its number and its hash stand, so that no other line is affected.',
  },
  hidden: {
    label: 'Hidden',
    tone: 'over',
    path: DASH,
    about: 'Some of its texts belong to a mailbox that you may not read. The hash covers them too.',
  },
  erased: {
    label: 'Erased',
    tone: 'over',
    path: CROSS,
    about:
      'The key of some of its texts was destroyed: nobody can read them. The hash of the line still stands.',
  },
  unsealed: {
    label: 'Not yet sealed',
    tone: 'ask',
    path: CLOCK,
    about:
      'No checkpoint covers it yet. One does within about a minute; lines of sealing itself wait for up to an hour.',
  },
};

/**
 * What is to be said of a line besides what it says itself.
 * @param {TrailLine} line
 * @param {number | null} sealedThrough null where it is not known
 */
export function marksOf(line, sealedThrough) {
  return [
    ...(line.action === 'unreadable' ? [MARKS.unreadable] : []),
    ...(line.data === undefined || (line.withheld ?? []).length > 0 ? [MARKS.hidden] : []),
    ...((line.erased ?? []).length > 0 ? [MARKS.erased] : []),
    ...(sealedThrough !== null && line.seq > sealedThrough ? [MARKS.unsealed] : []),
  ];
}

/**
 * The outcome, where it is worth a word in a list, and the marks.
 * @param {TrailLine} line
 * @param {number | null} sealedThrough
 */
export const badgesOf = (line, sealedThrough) => [
  ...(line.outcome === 'allowed' || line.action === 'unreadable' ? [] : [badgeOf(OUTCOMES[line.outcome])]),
  ...marksOf(line, sealedThrough).map(badgeOf),
];

/**
 * @param {TrailLine} line
 * @param {Names} names
 */
export function actorOfLine({ actor, surface, action }, names) {
  if (actor.id === null || (action === 'unreadable' && actor.type === null))
    return 'by nobody that can be read';
  return [
    'by ',
    actor.type === 'system' ? 'the gateway' : foreign(names.nameOf(actor.id)),
    actor.type === 'delegated' ? ' by a token' : '',
    surface === null || surface === 'system' ? '' : ` over ${surface}`,
  ];
}

/**
 * A link to the page of what an id names, where there is one; the name or the id otherwise.
 * @param {string} id
 * @param {Names} names
 */
export function linkToId(id, names) {
  const page = pageOfId(id);
  const name = names.nameOf(id);
  const text = name === id ? h('code', null, foreign(id)) : foreign(name);
  return page === null ? text : h('a', { href: page }, text);
}
