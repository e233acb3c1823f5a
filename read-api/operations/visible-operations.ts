/** Whose operations, and so whose checks, a caller may see (`contract.md` 3). */
import type { Caller } from '../../commands/kernel/access.ts';
import type { DirectoryState } from '../../commands/kernel/directory.ts';
import { APPROVER_ROLES } from '../../commands/kernel/policy-document.ts';
import type { Scope } from '../../commands/kernel/scopes.ts';
import type { ApprovalTerms } from '../../commands/operations/approvals/approval-events.ts';
import { fulfilsRole } from '../../commands/operations/approvals/eligible-approvers.ts';
import type { OperationState } from '../../commands/operations/operation.ts';
import type { OperationsVisible } from '../../projections/operation-queries.ts';

/**
 * His own, those of his agents, and those on mailboxes whose drafts (sends) or messages (the rest) he may read. Who is
 * signed in also sees what his role may decide; a token never decides, so it sees no more for its owner's role.
 */
export function operationsVisibleTo(
  { org, principal, token, mailboxes, role, actor }: Caller,
  { agents }: Pick<DirectoryState, 'agents'>,
): OperationsVisible {
  const withScope = (scope: Scope): readonly string[] =>
    [...mailboxes].flatMap(([id, { scopes }]) => (scopes.has(scope) ? [id] : []));
  const ownAgents = [...agents.values()].filter(
    ({ orgId, ownerId }) => orgId === org.id && ownerId === principal.id,
  );
  return {
    orgId: org.id,
    principalIds: [principal.id, ...ownAgents.map(({ id }) => id)],
    draftMailboxIds: withScope('drafts:read'),
    messageMailboxIds: withScope('messages:read'),
    approverRoles: APPROVER_ROLES.filter((wanted) => fulfilsRole(role, wanted)),
    isPerson: actor === 'person',
    mailboxIds: token.mailboxIds,
  };
}

/** Why somebody sees an operation: `approver` without any other right, which is recorded as a read. */
export type Sight = 'own' | 'granted' | 'approver';

/** Null for what does not exist as far as the caller is concerned. Also of an operation without a check. */
export function sightOf(visible: OperationsVisible, state: OperationState): Sight | null {
  const { submitted, mailboxId, approval } = state;
  if (submitted?.orgId !== visible.orgId || mailboxId === null) return null;
  if (visible.mailboxIds?.includes(mailboxId) === false) return null;
  if (visible.principalIds.includes(submitted.by.id)) return 'own';
  const readable = isSend(state) ? visible.draftMailboxIds : visible.messageMailboxIds;
  if (readable.includes(mailboxId)) return 'granted';
  return approval !== null && isDecidable(visible, approval.terms) ? 'approver' : null;
}

const isSend = ({ send, approval }: Pick<OperationState, 'send' | 'approval'>): boolean =>
  send !== null || (approval !== null && approval.requested.draft_id !== null);

/** By whoever is signed in with such a role, whether he voted or still may. */
const isDecidable = (
  { isPerson, approverRoles }: OperationsVisible,
  { quorum, approver_role }: ApprovalTerms,
): boolean => isPerson && quorum > 0 && approverRoles.includes(approver_role);
