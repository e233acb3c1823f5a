/** Whose operations a caller may see (`contract.md` 3): as their checks. */
import type { Caller } from '../../commands/kernel/access.ts';
import type { DirectoryState } from '../../commands/kernel/directory.ts';
import type { Scope } from '../../commands/kernel/scopes.ts';
import type { OperationState } from '../../commands/operations/operation.ts';
import type { OperationsVisible } from '../../projections/operation-queries.ts';

/** His own, those of his agents, and those on mailboxes whose drafts (sends) or messages (the rest) he may read. */
export function operationsVisibleTo(
  caller: Caller,
  { agents }: Pick<DirectoryState, 'agents'>,
): OperationsVisible {
  const { org, principal, token, mailboxes } = caller;
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
    mailboxIds: token.mailboxIds,
  };
}

/** Whether one operation, as its stream tells it, is among them. */
export function isVisible(
  visible: OperationsVisible,
  { submitted, mailboxId, send }: Pick<OperationState, 'submitted' | 'mailboxId' | 'send'>,
): boolean {
  if (submitted?.orgId !== visible.orgId || mailboxId === null) return false;
  if (visible.mailboxIds?.includes(mailboxId) === false) return false;
  const readable = send === null ? visible.messageMailboxIds : visible.draftMailboxIds;
  return visible.principalIds.includes(submitted.by.id) || readable.includes(mailboxId);
}
