/** Roles in words, and what hangs on a membership. */
import { counted } from './wording.js';

/** @import { Consequences, Role } from './people-payloads.d.ts' */

/** @type {readonly (readonly [role: Role, label: string, about: string])[]} the widest first */
export const ROLES = [
  ['owner', 'Owner', 'Everything, also the organisation itself and its other owners.'],
  ['admin', 'Admin', 'People, mailboxes, agents, webhooks and the policy; decides approvals.'],
  ['approver', 'Approver', 'Decides approvals.'],
  ['member', 'Member', 'Uses the mailboxes they are given, with their own tokens and agents.'],
  ['auditor', 'Auditor', 'Reads what happened; changes nothing.'],
];

/** @param {Role} role */
export const roleLabel = (role) => ROLES.find(([each]) => each === role)?.[1] ?? role;

/** @param {Role} role */
export const aboutRole = (role) => ROLES.find(([each]) => each === role)?.[2] ?? '';

/**
 * The roles that a person of this role may give: only owners make owners.
 * @param {string} own
 */
export const rolesGivenBy = (own) => ROLES.filter(([role]) => own === 'owner' || role !== 'owner');

/**
 * What ends with a membership, one line each.
 * @param {Consequences} consequences
 * @returns {string[]}
 */
export const whatEnds = ({ tokens, grants }) => [
  'Every session here ends at once.',
  ...(tokens === 0 ? [] : [`${counted(tokens, 'token')} ${tokens === 1 ? 'stops' : 'stop'} working.`]),
  ...(grants === 0 ? [] : [`Access to ${counted(grants, 'mailbox', 'mailboxes')} ends.`]),
  'Requests that still wait for approval are withdrawn, and votes on others no longer count.',
];

/** Advice per error code. @type {Readonly<Record<string, string>>} */
export const NEXT = {
  last_owner: 'Make someone else an owner first, or delete the organisation.',
  conflict: 'Reload the page to see how it is now.',
  not_found: 'The link may be wrong, or the person has left or the invite has ended.',
};
