/** Who may decide an approval: people with the role it requires (`contract.md` 8 and 9). Pure. */
import { isVerified, type MembersByOrg, memberOfOrg, membersOf, roleIn } from '../kernel/membership.ts';
import type { DirectoryState } from '../ports/directory.ts';
import { GatewayError } from '../values/errors.ts';
import type { EventMetadata } from '../values/event.ts';
import { APPROVER_ROLES } from '../values/policy-document.ts';
import { type Role, ROLE_SCOPES } from '../values/scopes.ts';
import type { ApprovalTerms } from './approval-events.ts';
import type { ApprovalState } from './approval-state.ts';

type Members = Pick<DirectoryState, 'members' | 'organisations' | 'people'>;
type Wanted = Pick<ApprovalTerms, 'approver_role' | 'exclude_owner'>;

/** The person in whose name a principal acts: an agent's owner, otherwise the principal. */
export const personBehind = (
  { agents }: Pick<DirectoryState, 'agents'>,
  { id }: Pick<EventMetadata['actor'], 'id'>,
): string => agents.get(id)?.ownerId ?? id;

/** True for a role that is at least the required one and may decide at all. */
export const fulfilsRole = (role: Role | null, wanted: ApprovalTerms['approver_role']): boolean =>
  role !== null &&
  ROLE_SCOPES[role].includes('approvals:decide') &&
  APPROVER_ROLES.findIndex((each) => each === role) >= APPROVER_ROLES.indexOf(wanted);

interface Whose {
  readonly orgId: string;
  readonly behindId: string;
}

/** True for a person who may decide such an approval, requested in the name of `behindId`. */
export const mayDecide = (
  state: Members,
  { orgId, behindId }: Whose,
  { approver_role, exclude_owner }: Wanted,
  userId: string,
): boolean =>
  fulfilsRole(roleIn(state, orgId, userId), approver_role) &&
  isVerified(state, userId) &&
  !(exclude_owner && userId === behindId);

/** Everyone who may decide such an approval. */
export const eligibleApprovers = (state: MembersByOrg, whose: Whose, wanted: Wanted): readonly string[] =>
  membersOf(state, whose.orgId).flatMap(({ userId }) =>
    mayDecide(state, whose, wanted, userId) ? [userId] : [],
  );

/** True when a person who approved has not had the role to decide ever since, also when it was given again. */
export const hasLostApprover = (
  state: Members,
  orgId: string,
  { votes, terms }: Pick<ApprovalState, 'votes' | 'terms'>,
): boolean =>
  votes.some(({ by, decision, at }) => {
    const held = memberOfOrg(state, orgId, by.id)?.heldSince[terms.approver_role];
    return decision === 'approve' && (held === undefined || held.at > at);
  });

/** Throws `no_eligible_approver` when fewer people than the quorum may decide. */
export function assertApprovers(state: MembersByOrg, whose: Whose, terms: ApprovalTerms): void {
  if (terms.quorum === 0) return;
  const eligible = eligibleApprovers(state, whose, terms).length;
  if (eligible >= terms.quorum) return;
  const message = `This requires ${String(terms.quorum)} approvals of people with the role ${terms.approver_role} or above${
    terms.exclude_owner ? ', other than the one behind the request' : ''
  }; ${String(eligible)} could give one. Nothing was done.`;
  throw new GatewayError('no_eligible_approver', message, {
    details: { required: terms.quorum, eligible, approver_role: terms.approver_role },
  });
}
