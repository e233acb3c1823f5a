/** What a notice says of an approval: never a text of the mail, of its addresses or of a warning. */
import { loadAggregate } from '../kernel/decide-and-append.ts';
import { type ApprovalState, recordedStatus, statusAt } from '../operations/approval-state.ts';
import { mayDecide, personBehind } from '../operations/eligible-approvers.ts';
import { openManifest } from '../operations/manifest.ts';
import { operation, operationOfApproval } from '../operations/operation.ts';
import type { WarningCode } from '../operations/warning-codes.ts';
import type { DirectoryState } from '../ports/directory.ts';
import type { Ports } from '../ports/ports.ts';

export interface NoticeFact {
  readonly approvalId: string;
  /** Names as people gave them. */
  readonly requester: string;
  /** The person in whose name it was requested, if that is not the requester. */
  readonly behind: string | null;
  readonly action: string;
  /** Messages; of a send its recipients. */
  readonly count: number;
  readonly mailbox: string;
  readonly warningCodes: readonly WarningCode[];
  readonly expiresAt: string;
}

type FactPorts = Pick<Ports, 'clock' | 'directory' | 'events' | 'personal'>;

interface Asked {
  readonly orgId: string;
  readonly userId: string;
  readonly approvalId: string;
}

/** Null when it does not wait for this person now: decided, voted, expired, or the right is gone. */
export async function noticeFact(ports: FactPorts, asked: Asked): Promise<NoticeFact | null> {
  const { state } = await loadAggregate(ports.events, operation, operationOfApproval(asked.approvalId));
  const { approval, submitted, mailboxId } = state;
  if (approval === null || submitted === null || mailboxId === null) return null;
  const { state: now } = ports.directory;
  const behindId = personBehind(now, submitted.by);
  const isOfOrg = submitted.orgId === asked.orgId;
  if (!isOfOrg || !waitsFor({ approval, behindId }, asked, ports)) return null;
  const count = await countOf(ports, approval);
  const mailbox = now.mailboxes.get(mailboxId);
  if (count === null || mailbox === undefined) return null;
  const { id } = submitted.by;
  return {
    approvalId: asked.approvalId,
    requester: nameOf(now, id),
    behind: behindId === id ? null : nameOf(now, behindId),
    action: approval.requested.action,
    count,
    mailbox: mailbox.email,
    warningCodes: approval.requested.warning_codes ?? [],
    expiresAt: approval.expiresAt,
  };
}

function waitsFor(
  { approval, behindId }: { readonly approval: ApprovalState; readonly behindId: string },
  { orgId, userId }: Asked,
  { clock, directory }: FactPorts,
): boolean {
  const { terms, votes, expiresAt } = approval;
  const status = statusAt(recordedStatus(approval, false), expiresAt, clock.now());
  const isAsked = mayDecide(directory.state, { orgId, behindId }, terms, userId);
  return status === 'awaiting_approval' && isAsked && !votes.some(({ by }) => by.id === userId);
}

/** Null once the mailbox was erased. */
async function countOf(
  { personal }: FactPorts,
  { requested }: Pick<ApprovalState, 'requested'>,
): Promise<number | null> {
  const text = await personal.open(requested.manifest);
  const manifest = text === null ? null : openManifest(text, requested.content_hash);
  if (manifest === null) return null;
  return manifest.kind === 'send_draft' ? manifest.envelope.to.length : manifest.items.length;
}

const nameOf = ({ agents, people }: Pick<DirectoryState, 'agents' | 'people'>, id: string): string =>
  (agents.get(id) ?? people.get(id))?.name ?? '';
