/** How events of legal holds change the directory. */
import type { AnyEvent } from '../commands/event-catalogue.ts';
import { HOLD_TARGETS, type HoldTarget, type LegalHoldEntry } from '../commands/ports/legal-holds.ts';
import type { PastFact, StoredEvent } from '../commands/values/event.ts';
import {
  type DirectoryChange,
  type DirectoryEvent,
  type LookUp,
  NOTHING,
  organisationOf,
  put,
} from './directory-entities.ts';

type FactOf<Type extends AnyEvent['type']> = Extract<PastFact<AnyEvent>, { readonly type: Type }>;

export function legalHoldChanges(id: string, { fact }: DirectoryEvent, lookUp: LookUp): DirectoryChange {
  if (fact.type === 'LegalHoldPlaced') return put({ kind: 'legalHold', value: placed(id, fact) });
  const before = lookUp('legalHold', id);
  const change = before && changeOf(before, fact);
  return change ? put({ kind: 'legalHold', value: { ...before, ...change } }) : NOTHING;
}

const placed = (id: string, { data, meta }: FactOf<'LegalHoldPlaced'>): LegalHoldEntry => ({
  id,
  orgId: meta.org_id ?? '',
  name: data.name,
  reason: data.reason,
  targets: data.targets.map(({ type, id: targetId, mailbox_id = null, draft_id = null }) => ({
    type,
    id: targetId,
    mailboxId: mailbox_id,
    draftId: draft_id,
  })),
  state: 'active',
  createdAt: meta.occurred_at,
  createdBy: meta.actor.id,
  release: null,
  postponed: [],
});

function changeOf(
  { release, postponed }: LegalHoldEntry,
  { type, data, meta }: PastFact<AnyEvent>,
): Partial<LegalHoldEntry> | null {
  const { occurred_at: at, actor } = meta;
  switch (type) {
    case 'LegalHoldReleaseRequested': {
      const requested = { requestedAt: at, requestedBy: actor.id, reason: data.reason };
      return { state: 'release_requested', release: { ...requested, releasedAt: null, releasedBy: null } };
    }
    case 'LegalHoldReleased':
      return { state: 'released', release: release && { ...release, releasedAt: at, releasedBy: actor.id } };
    case 'PersonalDataErasurePostponed':
      return { postponed: [...postponed, data.owner_id] };
    default:
      return null;
  }
}

const TARGET_PREFIXES: Readonly<Record<HoldTarget['type'], string>> = {
  person: 'usr',
  mailbox: 'mbx',
  draft: 'drf',
  approval: 'chk',
};

/** A hold that cannot be read forbids the loss of everything it names; any other unread event leaves it as it is. */
export function heldUnread(id: string, { type, data, metadata }: StoredEvent): DirectoryChange {
  if (type !== 'LegalHoldPlaced') return NOTHING;
  const text = JSON.stringify(data);
  const targets = HOLD_TARGETS.flatMap((kind): HoldTarget[] =>
    [...text.matchAll(new RegExp(`\\b${TARGET_PREFIXES[kind]}_[0-9a-z]{26}\\b`, 'g'))].map(([named]) => ({
      type: kind,
      id: named,
      mailboxId: null,
      draftId: null,
    })),
  );
  const unread = { name: '', reason: null, createdAt: '', createdBy: '', release: null, postponed: [] };
  const value = { ...unread, id, orgId: organisationOf(metadata), targets, state: 'active' as const };
  return put({ kind: 'legalHold', value });
}
