/** Which operations and approvals a caller may see, and why (`contract.md` 3). */
import type { Caller, MailboxAccess } from '../kernel/access.ts';
import { lacks } from '../kernel/authorize.ts';
import type { Context } from '../kernel/capability.ts';
import { loadAggregate } from '../kernel/decide-and-append.ts';
import type { DirectoryState, MailboxEntry } from '../ports/directory.ts';
import { APPROVER_ROLES } from '../values/policy-document.ts';
import type { Ports } from '../ports/ports.ts';
import type { MailboxScope } from '../values/scopes.ts';
import { asReached } from '../kernel/folders.ts';
import { draft } from '../drafts/draft.ts';
import { liesWithin } from '../drafts/load-draft.ts';
import type { ApprovalRecord } from '../operations/approval-record.ts';
import type { ApprovalTerms } from '../operations/approval-events.ts';
import { fulfilsRole } from '../operations/eligible-approvers.ts';
import { openManifest } from '../operations/manifest.ts';
import type { OperationState } from '../operations/operation.ts';

/** What a caller may see: their own operations, those on mailboxes they may read, those they may decide. */
export interface OperationsVisible {
  readonly orgId: string;
  /** Requesters: the caller and the caller's agents. */
  readonly principalIds: readonly string[];
  /** Mailboxes whose drafts the caller may read: applies to sends. */
  readonly draftMailboxIds: readonly string[];
  /** Mailboxes whose messages the caller may read: applies to everything else. */
  readonly messageMailboxIds: readonly string[];
  /** Approver roles that the caller's role fulfils. */
  readonly approverRoles: readonly string[];
  /** A signed-in person, who needs no grant on the mailbox to see what they may decide. */
  readonly isPerson: boolean;
  /** Null = the token reaches every mailbox. */
  readonly mailboxIds: readonly string[] | null;
}

/**
 * The caller's own operations, those of their agents, and those on mailboxes whose drafts (sends) or messages
 * (the rest) they may read, within the folders of their grants (`sightOf`). A signed-in person also sees what
 * their role may decide. A token never decides, so its owner's role adds nothing.
 */
export function operationsVisibleTo(
  { org, principal, token, mailboxes, role, actor }: Caller,
  { agents }: Pick<DirectoryState, 'agents'>,
): OperationsVisible {
  const withScope = (scope: MailboxScope): readonly string[] =>
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

/** The facts that decide who may see an operation. */
interface SightedOperation extends Pick<OperationState, 'mailboxId'> {
  readonly submitted: { readonly orgId: string | null; readonly by: { readonly id: string } } | null;
  readonly approval: Pick<ApprovalRecord, 'requested'> | null;
  readonly send: { readonly draftId: string } | null;
  readonly targets: readonly { readonly message_id: string }[];
  readonly steps: readonly { readonly folder?: number | undefined }[];
}

export const sightedApproval = (record: ApprovalRecord): SightedOperation => ({
  ...{ mailboxId: record.mailboxId, approval: record, send: null, targets: [], steps: [] },
  submitted: { orgId: record.orgId, by: record.requester },
});

/** Why a caller sees an operation: `approver` without any other right, which is recorded as a read. */
export type Sight = 'own' | 'granted' | 'approver';

/** By rights alone, without the folders of a grant. Null when the operation does not exist for the caller. */
export function sightIn(visible: OperationsVisible, state: SightedOperation): Sight | null {
  const { submitted, mailboxId, approval } = state;
  if (submitted?.orgId !== visible.orgId || mailboxId === null) return null;
  if (visible.mailboxIds?.includes(mailboxId) === false) return null;
  if (visible.principalIds.includes(submitted.by.id)) return 'own';
  const readable = draftIdOf(state) === null ? visible.messageMailboxIds : visible.draftMailboxIds;
  if (readable.includes(mailboxId)) return 'granted';
  return approval !== null && isDecidable(visible, approval.requested.terms) ? 'approver' : null;
}

type Asking = Pick<Context, 'caller' | 'ports'>;

/**
 * Like `sightIn`, but a grant bound to folder roles shows only operations within its folders. The requester,
 * the person behind it and its approvers see it in any folder. Throws `store_unavailable`.
 */
export async function sightOf(asking: Asking, state: SightedOperation): Promise<Sight | null> {
  const visible = operationsVisibleTo(asking.caller, asking.ports.directory.state);
  const sight = sightIn(visible, state);
  if (sight !== 'granted' || (await isWithinReach(asking, state))) return sight;
  return sightIn({ ...visible, draftMailboxIds: [], messageMailboxIds: [] }, state);
}

/** True when the caller's grant on the mailbox includes the scope. */
export const holdsOn = (
  { mailboxes }: Pick<Caller, 'mailboxes'>,
  mailboxId: string,
  scope: MailboxScope,
): boolean => mailboxes.get(mailboxId)?.scopes.has(scope) === true;

/** A caller needs one of these to see any operation; requesters and approvers need `approvals:read`. */
export const SCOPES_TO_SEE_OPERATIONS = ['approvals:read', 'drafts:read', 'messages:read'] as const;

/** What lists of operations show: without `approvals:read`, only what a grant shows. */
export const operationsReadableBy = (caller: Caller, visible: OperationsVisible): OperationsVisible =>
  caller.orgScopes.has('approvals:read') ? visible : { ...visible, principalIds: [], approverRoles: [] };

/** For a caller who sees the operation. Throws `insufficient_scope` without the scope to read it. */
export function assertMayRead(caller: Caller, state: SightedOperation): void {
  const scope = scopeToSee(state);
  if (caller.orgScopes.has('approvals:read') || holdsOn(caller, state.mailboxId ?? '', scope)) return;
  throw lacks(caller, ['approvals:read', scope]);
}

/** The draft that is sent; null for an operation that sends nothing. */
const draftIdOf = ({ send, approval }: Pick<SightedOperation, 'send' | 'approval'>): string | null =>
  send?.draftId ?? approval?.requested.draft_id ?? null;

const scopeToSee = (state: SightedOperation): MailboxScope =>
  draftIdOf(state) === null ? 'messages:read' : 'drafts:read';

/** True for a signed-in person with such a role, before and after their vote. */
const isDecidable = (
  { isPerson, approverRoles }: OperationsVisible,
  { quorum, approver_role }: ApprovalTerms,
): boolean => isPerson && quorum > 0 && approverRoles.includes(approver_role);

/** True when the caller's grant reaches every folder of the operation. */
async function isWithinReach({ caller, ports }: Asking, state: SightedOperation): Promise<boolean> {
  const mailbox = ports.directory.state.mailboxes.get(state.mailboxId ?? '');
  const access = caller.mailboxes.get(state.mailboxId ?? '');
  if (!mailbox || !access) return false;
  return access.folderRoles === null || (await liesWithinFolders(ports, { mailbox, access }, state));
}

interface Bound {
  readonly mailbox: MailboxEntry;
  readonly access: MailboxAccess;
}

async function liesWithinFolders(
  { events, locators, personal }: Ports,
  { mailbox, access }: Bound,
  state: SightedOperation,
): Promise<boolean> {
  const draftId = draftIdOf(state);
  if (draftId !== null) {
    const sent = await loadAggregate(events, draft, draftId);
    return liesWithin(locators, { mailbox, access }, sent.state);
  }
  const about = await subjectOf(personal, state);
  if (about === null) return false;
  const { folders } = asReached(mailbox, access);
  const sources = about.targets.map(({ message_id }) => locators.openMessage(message_id)?.folderNumber);
  const destinations = about.steps.flatMap(({ folder }) => folder ?? []);
  return [...sources, ...destinations].every((wanted) => folders.some(({ number }) => number === wanted));
}

/** The messages and their destinations. An approval has them only in its manifest; null once erased. */
async function subjectOf(
  personal: Ports['personal'],
  { approval, targets, steps }: SightedOperation,
): Promise<{
  readonly targets: readonly { readonly message_id: string }[];
  readonly steps: readonly { readonly folder?: number | undefined }[];
} | null> {
  if (approval === null) return { targets, steps };
  const text = await personal.open(approval.requested.manifest);
  const manifest = text === null ? null : openManifest(text, approval.requested.content_hash);
  return manifest?.kind === 'message_actions' ? { targets: manifest.items, steps: manifest.steps } : null;
}
