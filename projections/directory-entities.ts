/** The directory's entities, and how each event changes the one or two it concerns. Pure except for opening sealed texts. */
import type { PastFact, StoredEvent } from '../commands/values/event.ts';
import type {
  AgentEntry,
  GrantEntry,
  MailboxEntry,
  OrganisationEntry,
  PersonEntry,
  PersonSessionsEntry,
  PolicyEntry,
  SessionEntry,
  TokenEntry,
} from '../commands/ports/directory.ts';
import type { Role } from '../commands/values/scopes.ts';
import type { Sealed } from '../commands/values/sealed.ts';
import { openText } from '../commands/kernel/sealed-json.ts';
import type { AnyEvent } from '../commands/event-catalogue.ts';
import { UNREADABLE } from '../commands/policy/built-in-policy.ts';
import { changeMailbox } from './directory-mailbox.ts';
import { type Open, splitStreamName } from './projection.ts';

/** Streams whose events make up the directory. */
export const DIRECTORY_STREAMS = [
  'organisation-',
  'account-',
  'agent-',
  'token-',
  'session-',
  'mailbox-',
  'policy-',
] as const;

interface RoleEntry {
  readonly id: string;
  readonly role: Role;
}

export interface EntityTypes {
  organisation: OrganisationEntry;
  person: PersonEntry;
  role: RoleEntry;
  agent: AgentEntry;
  token: TokenEntry;
  sessions: PersonSessionsEntry;
  mailbox: MailboxEntry;
  grant: GrantEntry;
  policy: PolicyEntry;
}
export type EntityKind = keyof EntityTypes;
export type Entity = {
  [Kind in EntityKind]: { readonly kind: Kind; readonly value: EntityTypes[Kind] };
}[EntityKind];
export interface EntityKey {
  readonly kind: EntityKind;
  readonly id: string;
}

/** Reads an entity as it was before the event. */
export type LookUp = <Kind extends EntityKind>(kind: Kind, id: string) => EntityTypes[Kind] | undefined;

/** The effect of an event on the directory: entities written, and keys removed. */
export interface DirectoryChange {
  readonly put: readonly Entity[];
  readonly remove: readonly EntityKey[];
}

const NOTHING: DirectoryChange = { put: [], remove: [] };
const put = (...entities: readonly Entity[]): DirectoryChange => ({ put: entities, remove: [] });

/** The keys an event may read or write; `changesOf` reads no others. */
export function keysOf(
  streamName: string,
  fact: Pick<PastFact<AnyEvent>, 'type' | 'data'>,
): readonly EntityKey[] {
  const { category, id } = splitStreamName(streamName);
  switch (category) {
    case 'organisation':
      return 'user_id' in fact.data
        ? [{ kind: 'role', id: `${id}/${fact.data.user_id}` }]
        : [{ kind: 'organisation', id }];
    case 'account':
      return [{ kind: 'person', id }];
    case 'agent':
      return [{ kind: 'agent', id }];
    case 'token':
      return [{ kind: 'token', id }];
    case 'session':
      return 'user_id' in fact.data ? [{ kind: 'sessions', id: fact.data.user_id }] : [];
    case 'mailbox':
      return 'grant_id' in fact.data
        ? [
            { kind: 'mailbox', id },
            { kind: 'grant', id: fact.data.grant_id },
          ]
        : [{ kind: 'mailbox', id }];
    case 'policy':
      return [{ kind: 'policy', id }];
    default:
      return [];
  }
}

/** An erased text is shown as empty. */
const openOr = async (open: Open, sealed: Sealed): Promise<string> => (await open(sealed)) ?? '';

/** The changes of one event. Events of other streams change nothing. */
export async function changesOf(
  streamName: string,
  fact: PastFact<AnyEvent>,
  lookUp: LookUp,
  open: Open,
): Promise<DirectoryChange> {
  const { category, id } = splitStreamName(streamName);
  switch (fact.type) {
    case 'OrganisationCreated':
      return put({ kind: 'organisation', value: { id, name: fact.data.name } });
    case 'MemberAdded':
      return put({ kind: 'role', value: { id: `${id}/${fact.data.user_id}`, role: fact.data.role } });
    case 'AccountRegistered': {
      const [name, email] = [await openOr(open, fact.data.name), await openOr(open, fact.data.email)];
      return put({ kind: 'person', value: { id, name, email } });
    }
    case 'AgentCreated':
      return put({ kind: 'agent', value: agentOf(id, fact) });
    case 'TokenIssued':
      return put({ kind: 'token', value: await tokenOf(id, fact, open) });
    case 'TokenRevoked': {
      const token = lookUp('token', id);
      return token ? put({ kind: 'token', value: { ...token, revokedAt: fact.meta.occurred_at } }) : NOTHING;
    }
    case 'PolicySet':
      return put({ kind: 'policy', value: { id, ...fact.data } });
    default:
      if (isSessionFact(fact))
        return put({ kind: 'sessions', value: await changeSessions(id, fact, lookUp, open) });
      return category === 'mailbox' ? await mailboxChanges(id, fact, lookUp, open) : NOTHING;
  }
}

const agentOf = (
  id: string,
  { data, meta }: Extract<PastFact<AnyEvent>, { type: 'AgentCreated' }>,
): AgentEntry => ({
  id,
  orgId: meta.org_id ?? '',
  ownerId: data.owner_id,
  name: data.name,
  createdAt: meta.occurred_at,
});

const tokenOf = async (
  id: string,
  { data, meta }: Extract<PastFact<AnyEvent>, { type: 'TokenIssued' }>,
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
  createdBy: meta.actor.id,
  revokedAt: null,
  secretHash: await openText({ open }, data.secret_hash),
});

async function mailboxChanges(
  id: string,
  fact: PastFact<AnyEvent>,
  lookUp: LookUp,
  open: Open,
): Promise<DirectoryChange> {
  const mailbox = await changeMailbox(id, lookUp('mailbox', id), fact, open);
  const entities: Entity[] = mailbox ? [{ kind: 'mailbox', value: mailbox }] : [];
  switch (fact.type) {
    case 'GrantGiven':
      return put(...entities, { kind: 'grant', value: grantOf(id, fact) });
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
  createdBy: meta.actor.id,
});

const NAMED_KINDS: Readonly<Record<string, EntityKind>> = {
  usr: 'person',
  agt: 'agent',
  tok: 'token',
  grt: 'grant',
};
const NAMED_ID = /\b(usr|agt|tok|grt)_[0-9a-z]{26}\b/g;
const SUBJECT_KINDS: Readonly<Record<string, EntityKind>> = {
  account: 'person',
  agent: 'agent',
  token: 'token',
  mailbox: 'mailbox',
};

/**
 * The consequence of an event that cannot be read or applied: the subject of its stream is removed, and every person,
 * agent, token and grant it names. Its effect is unknown, so nothing it names keeps access. An organisation itself stays:
 * one bad event would lock out all of it. Its policy is replaced by one that denies.
 */
export function denialBy({ streamName, data }: StoredEvent): DirectoryChange {
  const { category, id } = splitStreamName(streamName);
  if (category === 'policy') return put({ kind: 'policy', value: unreadablePolicy(id, data) });
  const subject = SUBJECT_KINDS[category];
  const named = [...JSON.stringify(data).matchAll(NAMED_ID)].flatMap(
    ([namedId, prefix = '']): EntityKey[] => {
      const kind = NAMED_KINDS[prefix];
      return kind ? [{ kind, id: namedId }] : [];
    },
  );
  return { put: [], remove: subject ? [{ kind: subject, id }, ...named] : named };
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

/** A person's sessions are one entity, so that old ones are removed when a new one starts. */
type SessionFact = Extract<PastFact<AnyEvent>, { readonly type: `Session${string}` }>;

const isSessionFact = (fact: PastFact<AnyEvent>): fact is SessionFact =>
  fact.type === 'SessionStarted' || fact.type === 'SessionSteppedUp' || fact.type === 'SessionEnded';

const REMEMBERED_MS = 24 * 60 * 60_000;

/** The person's sessions after an event of one of them. */
export async function changeSessions(
  sessionId: string,
  fact: SessionFact,
  lookUp: (kind: 'sessions', personId: string) => PersonSessionsEntry | undefined,
  open: Open,
): Promise<PersonSessionsEntry> {
  const at = Date.parse(fact.meta.occurred_at);
  const known = (lookUp('sessions', fact.data.user_id)?.sessions ?? []).filter(
    ({ endedAt, expiresAt }) => Date.parse(endedAt ?? expiresAt) + REMEMBERED_MS > at,
  );
  const id = fact.data.user_id;
  if (fact.type === 'SessionStarted')
    return { id, sessions: [...known, await startedBy(sessionId, fact, open)] };
  const change =
    fact.type === 'SessionEnded' ? { endedAt: fact.meta.occurred_at } : { steppedUpUntil: fact.data.until };
  return {
    id,
    sessions: known.map((session) => (session.id === sessionId ? { ...session, ...change } : session)),
  };
}

const startedBy = async (
  id: string,
  { data, meta }: Extract<SessionFact, { readonly type: 'SessionStarted' }>,
  open: Open,
): Promise<SessionEntry> => ({
  id,
  orgId: meta.org_id ?? '',
  userId: data.user_id,
  secretHash: await openText({ open }, data.secret_hash),
  startedAt: meta.occurred_at,
  expiresAt: data.expires_at,
  steppedUpUntil: data.stepped_up_until,
  endedAt: null,
  client: (meta.actor.client ?? null) as Sealed | null,
});
