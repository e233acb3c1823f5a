/** Whose operations, and so whose approvals, a caller may see, and why (`contract.md` 3). */
import type { Caller, MailboxAccess } from '../kernel/access.ts';
import { lacks } from '../kernel/authorize.ts';
import type { Context } from '../kernel/capability.ts';
import { loadAggregate } from '../kernel/decide-and-append.ts';
import type { DirectoryState, MailboxEntry } from '../ports/directory.ts';
import { APPROVER_ROLES } from '../values/policy-document.ts';
import type { Ports } from '../ports/ports.ts';
import type { MailboxScope } from '../values/scopes.ts';
import { asReached } from '../kernel/searched-folders.ts';
import { draft } from '../drafts/draft.ts';
import { liesWithin } from '../drafts/load-draft.ts';
import type { ApprovalRecord } from '../operations/approval-record.ts';
import type { ApprovalTerms } from '../operations/approval-events.ts';
import { fulfilsRole } from '../operations/eligible-approvers.ts';
import { openManifest } from '../operations/manifest.ts';
import type { OperationState } from '../operations/operation.ts';

/** Whose operations and approvals somebody may see: his own, those on mailboxes he may read, those he may decide. */
export interface OperationsVisible {
  readonly orgId: string;
  /** Requesters: the caller himself and whoever acts for him. */
  readonly principalIds: readonly string[];
  /** Where he may read drafts: sends. */
  readonly draftMailboxIds: readonly string[];
  /** Where he may read messages: everything else. */
  readonly messageMailboxIds: readonly string[];
  /** Approver roles his own role fulfils. */
  readonly approverRoles: readonly string[];
  /** He sees what he may decide without a grant on its mailbox: a person who is signed in. */
  readonly isPerson: boolean;
  /** Null = his token reaches every mailbox. */
  readonly mailboxIds: readonly string[] | null;
}

/**
 * His own, those of his agents, and those on mailboxes whose drafts (sends) or messages (the rest) he may read, as far as the
 * folders of his grants reach (`sightOf`). Who is signed in also sees what his role may decide; a token never decides, so it
 * sees no more for its owner's role.
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

/** What decides who may see an operation. */
export interface SightedOperation extends Pick<OperationState, 'mailboxId'> {
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

/** Why somebody sees an operation: `approver` without any other right, which is recorded as a read. */
export type Sight = 'own' | 'granted' | 'approver';

/** By rights alone, whatever the folders of a grant. Null for what does not exist as far as the caller is concerned. */
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
 * The same, and a grant bound to folder roles shows only what lies in its folders. Throws `store_unavailable`.
 * Who asked for it, who is behind it and who may decide it sees it wherever it lies.
 */
export async function sightOf(asking: Asking, state: SightedOperation): Promise<Sight | null> {
  const visible = operationsVisibleTo(asking.caller, asking.ports.directory.state);
  const sight = sightIn(visible, state);
  if (sight !== 'granted' || (await isWithinReach(asking, state))) return sight;
  return sightIn({ ...visible, draftMailboxIds: [], messageMailboxIds: [] }, state);
}

/** True for a scope that the caller's grant on the mailbox leaves him. */
export const holdsOn = (
  { mailboxes }: Pick<Caller, 'mailboxes'>,
  mailboxId: string,
  scope: MailboxScope,
): boolean => mailboxes.get(mailboxId)?.scopes.has(scope) === true;

/** Who holds none of these sees only what he sees as requester or approver, and of that nothing without `approvals:read`. */
export const SCOPES_TO_SEE_OPERATIONS = ['approvals:read', 'drafts:read', 'messages:read'] as const;

/** What a list of operations shows: without `approvals:read` only what a grant shows. */
export const operationsReadableBy = (caller: Caller, visible: OperationsVisible): OperationsVisible =>
  caller.orgScopes.has('approvals:read') ? visible : { ...visible, principalIds: [], approverRoles: [] };

/** For whoever sees the operation: throws `insufficient_scope` where he lacks what reading its approval would need. */
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

/** By whoever is signed in with such a role, whether he voted or still may. */
const isDecidable = (
  { isPerson, approverRoles }: OperationsVisible,
  { quorum, approver_role }: ApprovalTerms,
): boolean => isPerson && quorum > 0 && approverRoles.includes(approver_role);

/** True when every folder the operation is about is one that the caller's grant reaches. */
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

/** Its messages, and where they are to go. Of what waits or waited only the manifest tells both; null once it was erased. */
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
