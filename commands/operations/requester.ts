/** Whether the requester of an approval could still request it (`contract.md` 9). Pure. */
import { type Caller, callerOf, type MailboxAccess } from '../kernel/access.ts';
import { memberOfOrg } from '../kernel/membership.ts';
import type { DirectoryState, MailboxEntry, TokenEntry } from '../ports/directory.ts';
import { MAILBOX_SCOPES, type MailboxScope } from '../values/scopes.ts';
import type { OperationState, Submission } from './operation.ts';
import type { Invalidation } from './approval-events.ts';

export interface Standing {
  readonly mailbox: MailboxEntry;
  /** The requester's present rights on the mailbox. */
  readonly access: MailboxAccess;
}

/** What was lost first: the mailbox, the requester or the grant. `scopes`: those that the request needs. */
export function requesterNow(
  state: DirectoryState,
  { submitted, mailboxId }: Pick<OperationState, 'submitted' | 'mailboxId'>,
  { scopes, now }: { readonly scopes: readonly MailboxScope[]; readonly now: Date },
): Standing | Invalidation {
  const mailbox = state.mailboxes.get(mailboxId ?? '');
  if (!mailbox || mailbox.state === 'removed') return 'mailbox_removed';
  const caller = submitted && requesterOf(state, submitted, now);
  if (caller === null) return 'requester_gone';
  const access = accessOf(state, caller, mailbox.id, submitted?.at ?? '');
  return access && scopes.every((scope) => access.scopes.has(scope)) ? { mailbox, access } : 'grant_gone';
}

/** Null when the token was revoked, or the requester is not of the organisation as at the request. */
function requesterOf(state: DirectoryState, submitted: Submission, now: Date): Caller | null {
  const token = tokenOf(state, submitted);
  const caller = token?.revokedAt === null ? callerOf(state, token, now) : null;
  return caller && !isLater(state, caller, submitted.at) ? caller : null;
}

/** True when the person joined again, or the agent was handed over, after the request. */
function isLater(state: DirectoryState, { principal, onBehalfOf, org }: Caller, since: string): boolean {
  const agent = state.agents.get(principal.id);
  const member = memberOfOrg(state, org.id, onBehalfOf ?? principal.id);
  return (agent !== undefined && agent.ownedAt > since) || (member !== null && member.joinedAt > since);
}

/** One grant per principal and mailbox: one created after the request replaced a lost one; not counted. */
function accessOf(
  { grantIds, grants }: DirectoryState,
  { principal, onBehalfOf, mailboxes }: Caller,
  mailboxId: string,
  since: string,
): MailboxAccess | null {
  const isNew = [principal.id, onBehalfOf ?? principal.id].some((id) => {
    const grant = grants.get(grantIds.get(mailboxId)?.get(id) ?? '');
    return grant !== undefined && grant.createdAt > since;
  });
  return isNew ? null : (mailboxes.get(mailboxId) ?? null);
}

/**
 * A token that expired since the request still counts. A request from a session, or with a token made from
 * one, is bounded only by the person's grants: the end of the session changes nothing.
 */
function tokenOf(state: DirectoryState, { by, orgId }: Submission): TokenEntry | null {
  if (by.session_id === null) return state.tokens.get(by.token_id ?? '') ?? null;
  return {
    id: by.session_id,
    orgId: orgId ?? '',
    principalId: by.id,
    principalKind: 'user',
    name: 'Session',
    surface: 'rest',
    scopes: MAILBOX_SCOPES,
    mailboxIds: null,
    expiresAt: '',
    createdAt: '',
    position: null,
    createdBy: by.id,
    revokedAt: null,
    secretHash: null,
  };
}
