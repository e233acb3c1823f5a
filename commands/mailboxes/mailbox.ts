/** A mailbox folded from its own stream: the basis of every decision about it. */
import type { Aggregate } from '../kernel/decide-and-append.ts';
import { AUTHORIZATION_REQUIRED, type FolderAvailability, type MailboxState } from '../ports/directory.ts';
import { catalogueOf, type Fact, type PastFact } from '../values/event.ts';
import { GatewayError, notFound } from '../values/errors.ts';
import type { Quotas } from '../kernel/grant-quotas.ts';
import type { HostSettings } from '../ports/mail-port.ts';
import type { FolderRole } from '../values/folder-roles.ts';
import type { MailboxScope } from '../values/scopes.ts';
import { type MailboxEvent, mailboxEvents } from './mailbox-events.ts';

export interface KnownFolder {
  readonly number: number;
  readonly pathKey: string;
  readonly availability: FolderAvailability;
  readonly uidValidity: number | null;
}

export interface GrantTerms {
  readonly scopes: readonly MailboxScope[];
  /** Null = every folder. */
  readonly folderRoles: readonly FolderRole[] | null;
  readonly expiresAt: string | null;
  /** Null = no limit. */
  readonly quotas: Quotas | null;
}

export interface HeldGrant extends GrantTerms {
  readonly id: string;
  readonly principalId: string;
  readonly principalKind: 'user' | 'agent';
  readonly createdAt: string;
  readonly createdBy: string;
}

export interface MailboxRecord {
  /** Null until the mailbox was added. */
  readonly number: number | null;
  readonly state: MailboxState;
  readonly stateReason: string | null;
  /** The first pass over the folders was completed once. */
  readonly synced: boolean;
  readonly erased: boolean;
  readonly eraseAt: string | null;
  readonly authType: 'password' | 'oauth2';
  /** `imap` for a mailbox with a password, else a mail provider. */
  readonly provider: string;
  /** The provider must be authorized (again) before any connection. */
  readonly awaitsAuthorization: boolean;
  readonly imap: HostSettings | null;
  readonly smtp: HostSettings | null;
  readonly trustedAuthservIds: readonly string[];
  readonly capabilities: readonly string[];
  readonly folders: ReadonlyMap<number, KnownFolder>;
  readonly detectedRoles: Readonly<Partial<Record<FolderRole, number>>>;
  readonly folderRoles: Readonly<Partial<Record<FolderRole, number | null>>>;
  readonly grants: ReadonlyMap<string, HeldGrant>;
  /** Number of events: the ETag. */
  readonly version: number;
}

export type MailboxFact = Fact<MailboxEvent>;

type PastFactOf<Type extends MailboxEvent['type']> = PastFact<Extract<MailboxEvent, { readonly type: Type }>>;
type Steps = {
  readonly [Type in MailboxEvent['type']]: (
    state: MailboxRecord,
    fact: PastFactOf<Type>,
  ) => Partial<MailboxRecord>;
};

/** How events change the connection of a mailbox: the same in its aggregate and in the directory. */
type Connection = Pick<MailboxRecord, 'state' | 'stateReason' | 'capabilities' | 'eraseAt'> & {
  readonly awaitsAuthorization?: boolean;
};

const waiting = (awaitsAuthorization = false): Pick<Connection, 'state' | 'stateReason'> => ({
  state: 'pending',
  stateReason: awaitsAuthorization ? AUTHORIZATION_REQUIRED : null,
});

/** New credentials are tried at once, unless the mailbox is paused or removed. */
export const afterCredentials = (
  { state }: Pick<Connection, 'state'>,
  awaitsAuthorization = false,
): Partial<Connection> => ({
  awaitsAuthorization,
  ...(state === 'paused' || state === 'removed' ? {} : waiting(awaitsAuthorization)),
});

export const connectionSteps = {
  MailboxCredentialsStored: (mailbox) => afterCredentials(mailbox),
  MailboxProviderAuthorized: (mailbox) => afterCredentials(mailbox),
  MailboxProviderAuthorizationWithdrawn: (mailbox) => afterCredentials(mailbox, true),
  MailboxConnectionStarted: () => ({ state: 'connecting', stateReason: null }),
  MailboxSyncStarted: (_, { data: { capabilities } }) => ({
    state: 'syncing',
    stateReason: null,
    capabilities,
  }),
  MailboxConnected: (_, { data: { capabilities } }) => ({
    state: 'connected',
    stateReason: null,
    capabilities,
  }),
  MailboxConnectionFailed: (_, { data }) => ({ state: 'connection_failed', stateReason: data.reason }),
  MailboxAuthFailed: (_, { data }) => ({ state: 'auth_failed', stateReason: data.reason }),
  MailboxDegraded: (_, { data }) => ({ state: 'degraded', stateReason: data.reason }),
  MailboxPaused: () => ({ state: 'paused', stateReason: null }),
  MailboxResumed: ({ awaitsAuthorization }) => waiting(awaitsAuthorization),
  MailboxRemoved: (_, { data }) => ({ state: 'removed', stateReason: null, eraseAt: data.erase_at }),
  MailboxRestored: ({ awaitsAuthorization }) => ({ ...waiting(awaitsAuthorization), eraseAt: null }),
} satisfies {
  readonly [Type in MailboxEvent['type']]?: (
    mailbox: Connection,
    fact: PastFactOf<Type>,
  ) => Partial<Connection>;
};

const withEntry = <Key, Value>(
  map: ReadonlyMap<Key, Value>,
  key: Key,
  value: Value,
): ReadonlyMap<Key, Value> => new Map(map).set(key, value);

const withFolder = (
  { folders }: MailboxRecord,
  number: number,
  change: Partial<KnownFolder>,
): Partial<MailboxRecord> => {
  const folder = folders.get(number);
  return folder ? { folders: withEntry(folders, number, { ...folder, ...change }) } : {};
};

const steps: Steps = {
  ...connectionSteps,
  MailboxAdded: (state, { data }) => ({
    number: data.number,
    authType: data.auth_type,
    provider: data.provider,
    imap: data.imap,
    smtp: data.smtp,
    ...afterCredentials(state, data.auth_type === 'oauth2'),
  }),
  MailboxChanged: (state, { data }) => ({
    ...(data.auth_type && {
      authType: data.auth_type,
      provider: data.provider ?? state.provider,
      ...afterCredentials(state, data.auth_type === 'oauth2'),
    }),
    ...(data.imap && { imap: data.imap, synced: false }),
    ...(data.smtp !== undefined && { smtp: data.smtp }),
    ...(data.trusted_authserv_ids && { trustedAuthservIds: data.trusted_authserv_ids }),
  }),
  MailboxConnected: (state, fact) => ({ ...connectionSteps.MailboxConnected(state, fact), synced: true }),
  MailboxErased: () => ({ erased: true }),
  FolderAdded: ({ folders }, { data }) => ({
    folders: withEntry(folders, data.number, {
      number: data.number,
      pathKey: data.path_key,
      availability: data.selectable ? 'selectable' : 'container',
      uidValidity: data.uid_validity,
    }),
  }),
  FolderAvailabilityChanged: (state, { data }) =>
    withFolder(state, data.number, { availability: data.availability }),
  FolderRenamed: (state, { data }) => withFolder(state, data.number, { pathKey: data.path_key }),
  FolderRolesDetected: (_, { data }) => ({ detectedRoles: data.roles }),
  FolderRolesSet: ({ folderRoles }, { data }) => ({ folderRoles: { ...folderRoles, ...data.roles } }),
  GrantGiven: ({ grants }, { data, meta }) => ({
    grants: withEntry(grants, data.grant_id, {
      id: data.grant_id,
      principalId: data.principal_id,
      principalKind: data.principal_kind,
      ...termsOf(data),
      createdAt: meta.occurred_at,
      createdBy: meta.actor.id,
    }),
  }),
  GrantChanged: ({ grants }, { data }) => {
    const grant = grants.get(data.grant_id);
    return grant ? { grants: withEntry(grants, grant.id, { ...grant, ...termsOf(data) }) } : {};
  },
  GrantRevoked: ({ grants }, { data }) => ({
    grants: new Map([...grants].filter(([id]) => id !== data.grant_id)),
  }),
};

const termsOf = (data: PastFactOf<'GrantChanged'>['data']): GrantTerms => ({
  scopes: data.scopes,
  folderRoles: data.folder_roles,
  expiresAt: data.expires_at,
  quotas: data.quotas,
});

export const mailbox: Aggregate<MailboxRecord, MailboxEvent> = {
  category: 'mailbox',
  catalogue: catalogueOf(mailboxEvents),
  initial: {
    number: null,
    state: 'pending',
    stateReason: null,
    synced: false,
    erased: false,
    eraseAt: null,
    authType: 'password',
    provider: 'imap',
    awaitsAuthorization: false,
    imap: null,
    smtp: null,
    trustedAuthservIds: [],
    capabilities: [],
    folders: new Map(),
    detectedRoles: {},
    folderRoles: {},
    grants: new Map(),
    version: 0,
  },
  evolve: (state, fact) => {
    const step = steps[fact.type] as (
      state: MailboxRecord,
      fact: PastFact<MailboxEvent>,
    ) => Partial<MailboxRecord>;
    return { ...state, ...step(state, fact), version: state.version + 1 };
  },
  about: (id) => ({ mailbox_id: id }),
};

/** Throws `not_found` when the mailbox was never added or is erased. */
export function assertKnown(state: MailboxRecord): void {
  if (state.number === null || state.erased) throw notFound('mailbox');
}

/** Throws `not_found`, or `conflict` when the mailbox was removed and could be restored. */
export function assertLive(state: MailboxRecord): void {
  assertKnown(state);
  if (state.state !== 'removed') return;
  throw new GatewayError(
    'conflict',
    'This mailbox was removed; restore it first with PATCH {"restore": true}.',
  );
}

/** Throws `version_conflict` when `If-Match` names another version; null and `*` match every version. */
export function assertVersion(state: MailboxRecord, ifMatch: string | null): void {
  if (ifMatch === null || ifMatch === '*' || ifMatch === String(state.version)) return;
  throw new GatewayError(
    'version_conflict',
    'The mailbox changed since the version in If-Match; read it again.',
    {
      details: { version: state.version },
    },
  );
}
