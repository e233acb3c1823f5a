/** Legal holds in plain words. */
import { badgeOf, CLOCK, DASH, PAUSE } from './badges.js';
import { foreign } from './foreign-text.js';
import { counted } from './wording.js';

/** @import { Hold, HoldState, HoldTarget, HoldTargetType } from './audit-payloads.d.ts' */
/** @typedef {import('./names.js').Names} Names */

/**
 * What to do after an error on these pages.
 * @type {Readonly<Record<string, string>>}
 */
export const NEXT = {
  not_found: 'Check the ids: each has to be of this organisation. A link to a hold may be wrong.',
  self_approval_forbidden: 'Ask another owner or admin to release it.',
  insufficient_scope: 'Owners and admins manage legal holds.',
};

/** @type {Readonly<Record<HoldState, import('./badges.js').StatusWords>>} */
const STATES = {
  active: {
    label: 'Active',
    tone: 'go',
    path: PAUSE,
    about: 'Nothing that it names is erased, moved to the trash or discarded.',
  },
  release_requested: {
    label: 'Release requested',
    tone: 'ask',
    path: CLOCK,
    about: 'It still counts until a second person releases it.',
  },
  released: { label: 'Released', tone: 'over', path: DASH, about: 'It no longer keeps anything.' },
};

/** @param {Pick<Hold, 'state'>} hold */
export const stateBadge = ({ state }) => badgeOf(STATES[state]);

/** @param {Pick<Hold, 'state'>} hold */
export const aboutState = ({ state }) => STATES[state].about;

/** @type {Readonly<Record<HoldTargetType, readonly [one: string, several: string, prefix: string]>>} */
const TARGETS = {
  person: ['person', 'people', 'usr_'],
  mailbox: ['mailbox', 'mailboxes', 'mbx_'],
  draft: ['draft', 'drafts', 'drf_'],
  approval: ['approval', 'approvals', 'chk_'],
};
const TYPES = /** @type {[HoldTargetType, (typeof TARGETS)[HoldTargetType]][]} */ (Object.entries(TARGETS));

/**
 * The type that the first letters of an id name; null for any other id.
 * @param {string} id
 */
export const targetTypeOf = (id) => TYPES.find(([, [, , prefix]]) => id.startsWith(prefix))?.[0] ?? null;

/**
 * How many of each type it names: `1 person, 2 mailboxes`.
 * @param {readonly HoldTarget[]} targets
 */
export const targetCounts = (targets) =>
  TYPES.map(([type, [one, several]]) => ({
    one,
    several,
    count: targets.filter((target) => target.type === type).length,
  }))
    .filter(({ count }) => count > 0)
    .map(({ count, one, several }) => counted(count, one, several))
    .join(', ');

/** @param {HoldTarget} target */
export const typeLabel = ({ type }) => {
  const [one] = TARGETS[type];
  return `${one.slice(0, 1).toUpperCase()}${one.slice(1)}`;
};

/**
 * The name of a person or a mailbox; the id of what has no name.
 * @param {string} id
 * @param {Names} names
 */
export const targetName = (id, names) => foreign(names.nameOf(id));
