/**
 * What a legal hold keeps from being destroyed, read from the directory. A hold is answered only when no process
 * works without it, so whoever asks here directly before an effect destroys nothing that was held by then.
 */
import type { Caller } from './access.ts';
import type { Directory, DirectoryState } from '../ports/directory.ts';
import type { LegalHoldEntry } from '../ports/legal-holds.ts';
import type { PartInApproval } from '../ports/trails.ts';
import { GatewayError } from '../values/errors.ts';

/** What would be lost. */
export type Loss =
  | {
      readonly kind: 'account';
      readonly userId: string;
      /** In which the person took part, or an agent whose key goes with the account. */
      readonly approvals: readonly PartInApproval[];
    }
  /** With all its mailboxes, and everybody who could release its holds. */
  | { readonly kind: 'organisation'; readonly orgId: string }
  /** Messages on the mail server. */
  | { readonly kind: 'messages'; readonly mailboxId: string }
  | {
      readonly kind: 'draft';
      readonly draftId: string;
      readonly mailboxId: string | null;
      /** The person or agent who started it. */
      readonly startedBy: string | null;
    }
  /** Everything that the gateway keeps of a mailbox. */
  | {
      readonly kind: 'mailbox';
      readonly mailboxId: string;
      /** Who started drafts in it. */
      readonly startedBy: readonly string[];
    };

type Held = Pick<DirectoryState, 'legalHolds' | 'agentOwners' | 'mailboxes'>;
type Target = LegalHoldEntry['targets'][number];

/** Holds that count, of every organisation. */
export const countingHolds = ({
  legalHolds,
}: Pick<DirectoryState, 'legalHolds'>): readonly LegalHoldEntry[] =>
  [...legalHolds.values()].filter(({ state }) => state !== 'released');

/** The holds that forbid a loss. */
export const holdsAgainst = (state: Held, loss: Loss): readonly LegalHoldEntry[] =>
  countingHolds(state).filter((hold) => hold.targets.some((target) => forbids(state, hold, target, loss)));

function forbids(state: Held, { orgId }: LegalHoldEntry, target: Target, loss: Loss): boolean {
  switch (loss.kind) {
    case 'account':
      return (
        target.id === loss.userId ||
        endsAgentOf(state, orgId, loss.userId, target) ||
        loss.approvals.some((approval) => isAbout(approval, target))
      );
    case 'organisation':
      return orgId === loss.orgId;
    case 'messages':
      return target.id === loss.mailboxId;
    case 'draft':
      return (
        [loss.draftId, loss.mailboxId].includes(target.id) ||
        target.draftId === loss.draftId ||
        isByPerson(state, orgId, { ...loss, startedBy: [loss.startedBy] }, target)
      );
    case 'mailbox':
      return [target.id, target.mailboxId].includes(loss.mailboxId) || isByPerson(state, orgId, loss, target);
  }
}

interface Started {
  readonly mailboxId: string | null;
  readonly startedBy: readonly (string | null)[];
}

/** True when the key of an agent that was once the person's goes with this account: it seals what the agent did for both. */
const endsAgentOf = ({ agentOwners }: Held, orgId: string, userId: string, { id }: Target): boolean =>
  [...agentOwners.values()].some(
    (agent) => agent.orgId === orgId && agent.lastOwnerIds.includes(userId) && agent.ownerIds.includes(id),
  );

/** True when the approval is what is held, or is part of it: its reasons are read with the keys of who gave them. */
const isAbout = ({ id, mailboxId, draftId }: PartInApproval, target: Target): boolean =>
  [id, mailboxId, draftId].includes(target.id);

/** True for drafts in the organisation of the hold that the person started, or an agent that is or was theirs. */
const isByPerson = (
  { mailboxes, agentOwners }: Held,
  orgId: string,
  { mailboxId, startedBy }: Started,
  { id }: Target,
): boolean =>
  mailboxes.get(mailboxId ?? '')?.orgId === orgId &&
  startedBy.some((by) => by !== null && (by === id || agentOwners.get(by)?.ownerIds.includes(id) === true));

type Known = Pick<Directory, 'isCurrent' | 'state'>;

/**
 * Throws `legal_hold`, with the ids of the holds for a caller who manages them; `store_unavailable` while this process
 * may lack a hold.
 */
export function assertNotHeld(directory: Known, loss: Loss, caller?: Caller): void {
  if (!directory.isCurrent)
    throw new GatewayError('store_unavailable', 'Legal holds are being loaded; try again.');
  const holds = holdsAgainst(directory.state, loss);
  if (holds.length === 0) return;
  const seen = holds.filter(({ orgId }) => caller !== undefined && managesHolds(caller, orgId));
  throw new GatewayError('legal_hold', `A legal hold ${WORDS[loss.kind]}.`, {
    details: { holds: seen.map(({ id }) => id) },
  });
}

const WORDS: Readonly<Record<Loss['kind'], string>> = {
  account: 'keeps this account from being erased',
  organisation: 'keeps this organisation from being deleted',
  messages: 'keeps messages of this mailbox from being removed',
  draft: 'keeps this draft from being discarded',
  mailbox: 'keeps this mailbox from being erased',
};

const managesHolds = ({ session, org, orgScopes }: Caller, orgId: string): boolean =>
  session !== null && org.id === orgId && orgScopes.has('holds:manage');

/** A hold was placed after the work had begun: what it forbids is left out. */
export class HoldPlaced extends Error {
  readonly refusal: GatewayError;

  constructor(refusal: GatewayError) {
    super(refusal.message);
    this.name = 'HoldPlaced';
    this.refusal = refusal;
  }
}

/** For the moment directly before a command to a mail server: throws `HoldPlaced`. */
export function assertStillFree(directory: Known, loss: Loss): void {
  try {
    assertNotHeld(directory, loss);
  } catch (error) {
    throw error instanceof GatewayError ? new HoldPlaced(error) : error;
  }
}

/** Stored content that must be kept, as the columns that find it. */
export interface HeldContent {
  readonly mailboxIds: readonly string[];
  readonly draftIds: readonly string[];
  /** People and agents whose drafts are kept: `<org_id>/<id>`. */
  readonly startedBy: readonly string[];
}

/** Null when nothing is held. */
export function heldContent(state: Held): HeldContent | null {
  const targets = countingHolds(state).flatMap((hold) =>
    hold.targets.map((target) => ({ ...target, orgId: hold.orgId })),
  );
  if (targets.length === 0) return null;
  const idsOf = (type: Target['type']): readonly string[] =>
    targets.flatMap((target) => (target.type === type ? [target.id] : []));
  const people = new Set(
    targets.flatMap(({ type, orgId, id }) => (type === 'person' ? [`${orgId}/${id}`] : [])),
  );
  const theirs = [...state.agentOwners.values()].filter(({ orgId, ownerIds }) =>
    ownerIds.some((ownerId) => people.has(`${orgId}/${ownerId}`)),
  );
  return {
    mailboxIds: idsOf('mailbox'),
    draftIds: [...idsOf('draft'), ...targets.flatMap(({ draftId }) => draftId ?? [])],
    startedBy: [...people, ...theirs.map(({ orgId, id }) => `${orgId}/${id}`)],
  };
}
