/** How each event changes the one or two entities of the directory that it concerns. Pure except for opening sealed texts. */
import type { GrantEntry, PolicyEntry, TokenEntry } from '../commands/ports/directory.ts';
import type { AnyEvent } from '../commands/event-catalogue.ts';
import { openText } from '../commands/kernel/sealed-json.ts';
import { UNREADABLE } from '../commands/policy/built-in-policy.ts';
import type { PastFact, StoredEvent } from '../commands/values/event.ts';
import type { Position } from '../commands/values/position.ts';
import {
  type DirectoryChange,
  type DirectoryEvent,
  type Entity,
  type EntityKey,
  type EntityKind,
  type LookUp,
  NOTHING,
  put,
} from './directory-entities.ts';
import { oauthClientChanges, oauthGrantChanges } from './directory-applications.ts';
import { heldUnread, legalHoldChanges } from './directory-holds.ts';
import { changeMailbox } from './directory-mailbox.ts';
import {
  accountChanges,
  agentChanges,
  inviteChanges,
  organisationChanges,
  ownedUnread,
} from './directory-people.ts';
import { changeSessions, isSessionEvent, isSessionFact } from './directory-sessions.ts';
import { type Open, splitStreamName } from './projection.ts';

/** The keys an event may read or write; `changesOf` reads no others. */
export function keysOf(
  streamName: string,
  fact: Pick<PastFact<AnyEvent>, 'type' | 'data'>,
): readonly EntityKey[] {
  const { category, id } = splitStreamName(streamName);
  switch (category) {
    case 'organisation':
      return 'user_id' in fact.data
        ? [{ kind: 'member', id: `${id}/${String(fact.data.user_id)}` }]
        : [{ kind: 'organisation', id }];
    case 'account':
      return [
        { kind: 'person', id },
        { kind: 'sessions', id },
      ];
    case 'agent':
      return [
        { kind: 'agent', id },
        { kind: 'agentOwners', id },
      ];
    case 'session':
      return isSessionFact(fact) ? [{ kind: 'sessions', id: fact.data.user_id }] : [];
    case 'mailbox':
      return 'grant_id' in fact.data
        ? [
            { kind: 'mailbox', id },
            { kind: 'grant', id: fact.data.grant_id },
          ]
        : [{ kind: 'mailbox', id }];
    default:
      return ONE_ENTITY.has(category) ? [{ kind: category as EntityKind, id }] : [];
  }
}

/** Streams of one entity, which has the stream's id. */
const ONE_ENTITY: ReadonlySet<string> = new Set<EntityKind>([
  'invite',
  'token',
  'oauthGrant',
  'oauthClient',
  'policy',
  'legalHold',
]);

type ChangesOf = (
  id: string,
  event: DirectoryEvent,
  lookUp: LookUp,
  open: Open,
) => DirectoryChange | Promise<DirectoryChange>;

const CHANGES: ReadonlyMap<string, ChangesOf> = new Map<string, ChangesOf>([
  ['organisation', organisationChanges],
  ['account', accountChanges],
  ['invite', inviteChanges],
  ['agent', agentChanges],
  ['token', tokenChanges],
  ['oauthGrant', oauthGrantChanges],
  ['oauthClient', oauthClientChanges],
  ['session', sessionChanges],
  ['policy', policyChanges],
  ['legalHold', legalHoldChanges],
  ['mailbox', mailboxChanges],
]);

/** The changes of one event. Events of other streams change nothing. */
export async function changesOf(event: DirectoryEvent, lookUp: LookUp, open: Open): Promise<DirectoryChange> {
  const { category, id } = splitStreamName(event.streamName);
  return (await CHANGES.get(category)?.(id, event, lookUp, open)) ?? NOTHING;
}

async function sessionChanges(
  id: string,
  event: DirectoryEvent,
  lookUp: LookUp,
  open: Open,
): Promise<DirectoryChange> {
  if (!isSessionEvent(event)) return NOTHING;
  return put({ kind: 'sessions', value: await changeSessions(id, event, lookUp, open) });
}

function policyChanges(id: string, { fact }: DirectoryEvent): DirectoryChange {
  return fact.type === 'PolicySet' ? put({ kind: 'policy', value: { id, ...fact.data } }) : NOTHING;
}

async function tokenChanges(
  id: string,
  { fact, position }: DirectoryEvent,
  lookUp: LookUp,
  open: Open,
): Promise<DirectoryChange> {
  if (fact.type === 'TokenIssued')
    return put({ kind: 'token', value: await tokenOf(id, fact, position, open) });
  if (fact.type === 'TokenForgotten') return { put: [], remove: [{ kind: 'token', id }] };
  const token = lookUp('token', id);
  if (!token) return NOTHING;
  if (fact.type === 'TokenRevoked')
    return put({ kind: 'token', value: { ...token, revokedAt: fact.meta.occurred_at } });
  if (fact.type !== 'TokenChanged') return NOTHING;
  const { name = token.name, expires_at = token.expiresAt } = fact.data;
  return put({ kind: 'token', value: { ...token, name, expiresAt: expires_at } });
}

const tokenOf = async (
  id: string,
  { data, meta }: Extract<PastFact<AnyEvent>, { type: 'TokenIssued' }>,
  position: Position,
  open: Open,
): Promise<TokenEntry> => ({
  id,
  orgId: meta.org_id ?? '',
  principalId: data.principal_id,
  principalKind: data.principal_kind,
  name: data.name,
  surface: data.surface,
  scopes: data.scopes,
  mailboxIds: data.mailbox_ids,
  expiresAt: data.expires_at,
  createdAt: meta.occurred_at,
  position: String(position),
  createdBy: meta.actor.id,
  revokedAt: null,
  secretHash: await openText({ open }, data.secret_hash),
});

async function mailboxChanges(
  id: string,
  { fact, position }: DirectoryEvent,
  lookUp: LookUp,
  open: Open,
): Promise<DirectoryChange> {
  const mailbox = await changeMailbox(id, lookUp('mailbox', id), fact, open);
  const entities: Entity[] = mailbox ? [{ kind: 'mailbox', value: mailbox }] : [];
  switch (fact.type) {
    case 'GrantGiven':
      return put(...entities, { kind: 'grant', value: grantOf(id, fact, position) });
    case 'GrantChanged': {
      const { grant_id, scopes, folder_roles, expires_at, quotas } = fact.data;
      const grant = lookUp('grant', grant_id);
      if (!grant) return put(...entities);
      const value = { ...grant, scopes, folderRoles: folder_roles, expiresAt: expires_at, quotas };
      return put(...entities, { kind: 'grant', value });
    }
    case 'GrantRevoked':
      return { put: entities, remove: [{ kind: 'grant', id: fact.data.grant_id }] };
    default:
      return put(...entities);
  }
}

const grantOf = (
  mailboxId: string,
  { data, meta }: Extract<PastFact<AnyEvent>, { type: 'GrantGiven' }>,
  position: Position,
): GrantEntry => ({
  id: data.grant_id,
  mailboxId,
  principalId: data.principal_id,
  principalKind: data.principal_kind,
  scopes: data.scopes,
  folderRoles: data.folder_roles,
  expiresAt: data.expires_at,
  quotas: data.quotas,
  createdAt: meta.occurred_at,
  position: String(position),
  createdBy: meta.actor.id,
});

const NAMED_KINDS: Readonly<Record<string, EntityKind>> = {
  usr: 'person',
  agt: 'agent',
  tok: 'token',
  grt: 'grant',
  inv: 'invite',
  oag: 'oauthGrant',
  oac: 'oauthClient',
};
const NAMED_ID = /\b(usr|agt|tok|grt|inv|oag|oac)_[0-9a-z]{26}\b/g;
const SUBJECT_KINDS: Readonly<Record<string, EntityKind>> = {
  account: 'person',
  agent: 'agent',
  token: 'token',
  mailbox: 'mailbox',
  invite: 'invite',
  oauthGrant: 'oauthGrant',
  oauthClient: 'oauthClient',
};

/**
 * The consequence of an event that cannot be read or applied: the subject of its stream is removed, and every person,
 * agent, token and grant it names. Its effect is unknown, so nothing it names keeps access. An organisation itself stays:
 * one bad event would lock out all of it. Its policy is replaced by one that denies. What a legal hold keeps, or may keep, it keeps.
 */
export function denialBy(event: StoredEvent, lookUp: LookUp): DirectoryChange {
  const { category, id } = splitStreamName(event.streamName);
  const { data } = event;
  if (category === 'policy') return put({ kind: 'policy', value: unreadablePolicy(id, data) });
  if (category === 'legalHold') return heldUnread(id, event);
  const subject = SUBJECT_KINDS[category];
  const named = [...JSON.stringify(data).matchAll(NAMED_ID)].flatMap(
    ([namedId, prefix = '']): EntityKey[] => {
      const kind = NAMED_KINDS[prefix];
      return kind ? [{ kind, id: namedId }] : [];
    },
  );
  const owned = category === 'agent' ? ownedUnread(id, event, lookUp) : NOTHING;
  return { put: owned.put, remove: subject ? [{ kind: subject, id }, ...named] : named };
}

/** The keys that `denialBy` reads. */
export function keysOfDenial({ streamName }: StoredEvent): readonly EntityKey[] {
  const { category, id } = splitStreamName(streamName);
  return category === 'agent' ? [{ kind: 'agentOwners', id }] : [];
}

/** Without the rules it is unknown what they forbid. */
const unreadablePolicy = (id: string, { version }: StoredEvent['data']): PolicyEntry => ({
  id,
  version: typeof version === 'number' ? version : 0,
  internal_domains: [],
  custom_headers: [],
  rules: [{ id: UNREADABLE, when: {}, then: { decision: 'deny' } }],
  default: null,
});
