/** Whether the person behind an endpoint may hear of something now: judged right before each attempt (`contract.md` 11). */
import { liveGrant } from '../kernel/access.ts';
import { isFolderAllowed } from '../kernel/folders.ts';
import { orgScopesOf } from '../kernel/membership.ts';
import type { DirectoryState, GrantEntry, MailboxEntry } from '../ports/directory.ts';
import type { MailboxScope, OrgScope } from '../values/scopes.ts';

export interface Told {
  readonly eventType: string;
  readonly mailboxId: string | null;
  readonly folders: readonly number[] | null;
}

/** `rights_gone`: the person may not manage webhooks here any more. */
export type Verdict = 'told' | 'withheld' | 'rights_gone';

type Needed = { readonly onMailbox: MailboxScope } | { readonly byRole: OrgScope };

/** By the first word of the type; what is not listed is told to those who manage webhooks. */
const NEEDED: ReadonlyMap<string, Needed> = new Map<string, Needed>([
  ['message', { onMailbox: 'messages:read' }],
  ['draft', { onMailbox: 'drafts:read' }],
  ['approval', { byRole: 'approvals:read' }],
  ['operation', { byRole: 'approvals:read' }],
  ['mailbox', { byRole: 'mailboxes:read' }],
]);

export function mayBeTold(
  state: DirectoryState,
  { orgId, personId }: { readonly orgId: string; readonly personId: string | null },
  told: Told,
  now: Date,
): Verdict {
  const held = orgScopesOf(state, orgId, personId ?? '');
  if (personId === null || !held.includes('webhooks:manage')) return 'rights_gone';
  return isShown(state, { orgId, personId, held }, told, now) ? 'told' : 'withheld';
}

interface Person {
  readonly orgId: string;
  readonly personId: string;
  readonly held: readonly OrgScope[];
}

function isShown(state: DirectoryState, { orgId, personId, held }: Person, told: Told, now: Date): boolean {
  const needed = NEEDED.get(told.eventType.slice(0, told.eventType.indexOf('.'))) ?? FOR_MANAGERS;
  if (told.mailboxId === null) return 'byRole' in needed && held.includes(needed.byRole);
  const mailbox = state.mailboxes.get(told.mailboxId);
  if (mailbox === undefined || !isOf(mailbox, orgId)) return false;
  if ('byRole' in needed) return held.includes(needed.byRole);
  return shows(liveGrant(state, mailbox.id, personId, now), mailbox, needed.onMailbox, told.folders);
}

const FOR_MANAGERS: Needed = { byRole: 'webhooks:manage' };

const isOf = (mailbox: MailboxEntry, orgId: string): boolean =>
  mailbox.orgId === orgId && mailbox.state !== 'removed';

/** A grant limited to folders shows a message that is in them; where a draft belongs is not known here. */
function shows(
  grant: GrantEntry | null,
  mailbox: MailboxEntry,
  scope: MailboxScope,
  folders: readonly number[] | null,
): boolean {
  if (!grant?.scopes.includes(scope)) return false;
  if (grant.folderRoles === null) return true;
  if (scope !== 'messages:read' || folders === null || folders.length === 0) return false;
  return folders.every((folder) => isFolderAllowed(grant, mailbox, folder));
}
