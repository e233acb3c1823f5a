/** What is wanted of a request whose parts want different approvals: all that any of them wants. Pure. */
import { APPROVER_ROLES, type RequireEffect } from '../values/policy-document.ts';

/**
 * `strictest` names the rule; each of its terms is made as strict as the strictest of all, so that one recipient more never
 * needs less. It is committed without being asked again only where every part says so.
 */
export function jointTerms(strictest: RequireEffect, all: readonly RequireEffect[]): RequireEffect {
  const { auto_commit: _, ...terms } = strictest;
  const rank = Math.max(...all.map(({ approver_role }) => APPROVER_ROLES.indexOf(approver_role)));
  const autoCommit = all.some(({ auto_commit }) => auto_commit === false)
    ? false
    : all.every(({ auto_commit }) => auto_commit === true) || undefined;
  return {
    ...terms,
    quorum: Math.max(...all.map(({ quorum }) => quorum)),
    approver_role: APPROVER_ROLES[rank] ?? strictest.approver_role,
    exclude_owner: all.some(({ exclude_owner }) => exclude_owner),
    decision_ttl: Math.min(...all.map(({ decision_ttl }) => decision_ttl)),
    commit_ttl: Math.min(...all.map(({ commit_ttl }) => commit_ttl)),
    ...(autoCommit === undefined ? {} : { auto_commit: autoCommit }),
  };
}
