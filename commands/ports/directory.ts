/**
 * The rights as this process knows them: an in-memory copy of `read.directory`, kept up to date by the process's own
 * subscription (docs/architecture.md#rights). Every request reads it; a token's claims are never used.
 */
import type { AgentOwnersEntry, LegalHoldEntry } from './legal-holds.ts';
import type { HostSettings } from './mail-port.ts';
import type { FolderRole } from '../values/folder-roles.ts';
import type { Policy } from '../values/policy-document.ts';
import type { Position } from '../values/position.ts';
import type { Sealed } from '../values/sealed.ts';
import type { MailboxScope, Role, Scope } from '../values/scopes.ts';

/** A `Position` as a decimal text, because entries are stored as JSON. */
export type PositionText = string;

export interface OrganisationEntry {
  readonly id: string;
  readonly name: string;
  readonly createdAt: string;
  /** Set while the organisation is deleted and can be restored; it is erased at this time. */
  readonly eraseAt: string | null;
  readonly isErased: boolean;
  /** The last deletion: sessions and tokens made before it stay invalid, also after a restore. */
  readonly notBefore: PositionText | null;
  /** Which applications its members may connect. */
  readonly oauthClients: OAuthClientRule;
}

/** `approved`: those that the organisation registered or approved; `registered`: only those that it registered. */
export const OAUTH_CLIENT_RULES = ['any', 'approved', 'registered'] as const;
export type OAuthClientRule = (typeof OAUTH_CLIENT_RULES)[number];

/** Which mails about waiting approvals a person gets. */
export const NOTIFICATION_LEVELS = ['each', 'digest', 'off'] as const;
export type NotificationLevel = (typeof NOTIFICATION_LEVELS)[number];

export interface PersonEntry {
  readonly id: string;
  readonly name: string;
  readonly email: string;
  readonly registeredAt: string;
  /** True when the address was shown to be the person's own. */
  readonly isVerified: boolean;
  readonly notifications: NotificationLevel;
  /** True from the request to erase the account until it is erased or the erasure is stopped. */
  readonly isBeingErased: boolean;
}

/** The membership of a person in an organisation. Whatever the person had from an earlier one stays invalid. */
export interface MemberEntry {
  /** `<org_id>/<usr_id>`. */
  readonly id: string;
  readonly orgId: string;
  readonly userId: string;
  readonly role: Role;
  readonly since: PositionText;
  readonly joinedAt: string;
  /** When the role was last given or changed. */
  readonly changedAt: string;
  /** Each role whose rights the person has, and since when without a break. */
  readonly heldSince: Readonly<Partial<Record<Role, HeldSince>>>;
}

export interface HeldSince {
  readonly position: PositionText;
  readonly at: string;
}

/** An invite that was neither ended nor carried out in full. */
export interface InviteEntry {
  readonly id: string;
  readonly orgId: string;
  readonly email: string;
  /** The name of the reservation of the address. */
  readonly emailKey: string;
  readonly role: Role;
  readonly mailboxGrants: readonly InvitedGrant[];
  readonly expiresAt: string;
  readonly createdAt: string;
  readonly createdBy: string;
  /** The person who accepted it, until membership and grants exist. */
  readonly acceptedBy: string | null;
}

/** What an invite promises on a mailbox. */
export interface InvitedGrant {
  readonly mailboxId: string;
  readonly scopes: readonly MailboxScope[];
  readonly folderRoles: readonly FolderRole[] | null;
}

export interface AgentEntry {
  readonly id: string;
  readonly orgId: string;
  readonly ownerId: string;
  readonly name: string;
  readonly createdAt: string;
  /** When the present owner got it: tokens made before are invalid, and so are approvals requested before. */
  readonly ownedSince: PositionText;
  readonly ownedAt: string;
  /** Increases with each event of the agent: its ETag. */
  readonly version: number;
}

export interface TokenEntry {
  readonly id: string;
  readonly orgId: string;
  readonly principalId: string;
  readonly principalKind: 'user' | 'agent';
  readonly name: string;
  readonly surface: 'rest' | 'mcp';
  readonly scopes: readonly Scope[];
  /** Null = every mailbox its principal has a grant on. */
  readonly mailboxIds: readonly string[] | null;
  readonly expiresAt: string;
  readonly createdAt: string;
  /** Null for what is not judged by when it was made: the operator, and the session of an earlier request. */
  readonly position: PositionText | null;
  readonly createdBy: string;
  readonly revokedAt: string | null;
  /** SHA-256 of a REST token; null for a JWT. */
  readonly secretHash: string | null;
}

/** Where a client comes from: an organisation registered it, it registered itself, or its id is the address of its metadata. */
export const OAUTH_CLIENT_KINDS = ['registered', 'dynamic', 'document'] as const;
export type OAuthClientKind = (typeof OAUTH_CLIENT_KINDS)[number];

/** An OAuth grant, described as a token of its person for MCP: `revokedAt` is its end, `name` the application's. */
export interface OAuthGrantEntry extends TokenEntry {
  readonly clientId: string;
  readonly clientKind: OAuthClientKind;
  readonly redirectUri: string;
}

/** An application that an organisation registered or approved. */
export interface OAuthClientEntry {
  readonly id: string;
  readonly orgId: string;
  /** The id that the application sends: the same as `id` for a registered one. */
  readonly clientId: string;
  readonly isRegistered: boolean;
  readonly name: string;
  readonly redirectUris: readonly string[];
  /** Null = no limit of its own. */
  readonly scopes: readonly Scope[] | null;
  /** SHA-256 of the secret; null for a public client. */
  readonly secretHash: string | null;
  readonly createdAt: string;
  readonly createdBy: string;
  /** Increases with each event of the client: its ETag. */
  readonly version: number;
}

/** The session of a signed-in person. `SessionUse` decides when an unused one ends. */
export interface SessionEntry {
  readonly id: string;
  readonly orgId: string;
  readonly userId: string;
  /** SHA-256 of the bearer; null once its owner was erased. */
  readonly secretHash: string | null;
  readonly startedAt: string;
  readonly position: PositionText;
  /** The latest end, however often the session is used. */
  readonly expiresAt: string;
  readonly steppedUpUntil: string | null;
  readonly endedAt: string | null;
  /** The session in another organisation that replaced it. */
  readonly nextId?: string;
  /** The address and user agent that started the session, sealed for the person. */
  readonly client: Sealed | null;
}

/**
 * The sessions of one person, oldest first. When another one starts, those that ended more than a day ago are
 * left out.
 */
export interface PersonSessionsEntry {
  /** The person's id. */
  readonly id: string;
  readonly sessions: readonly SessionEntry[];
}

export interface GrantEntry {
  readonly id: string;
  readonly mailboxId: string;
  readonly principalId: string;
  readonly principalKind: 'user' | 'agent';
  readonly scopes: readonly MailboxScope[];
  readonly folderRoles: readonly FolderRole[] | null;
  readonly expiresAt: string | null;
  readonly quotas: Readonly<Record<string, number>> | null;
  readonly createdAt: string;
  readonly position: PositionText;
  readonly createdBy: string;
}

export type MailboxState =
  | 'pending' | 'connecting' | 'syncing' | 'connected' | 'degraded' | 'connection_failed' | 'auth_failed' | 'paused' | 'removed'; // prettier-ignore

/** The reason of a `pending` mailbox whose provider must be authorized first. */
export const AUTHORIZATION_REQUIRED = 'authorization_required';

export type FolderAvailability = 'selectable' | 'container' | 'missing';

export interface FolderEntry {
  readonly number: number;
  readonly path: string;
  /**
   * `container` holds only other folders, `missing` is gone from the server; absent = it can hold messages.
   */
  readonly availability?: FolderAvailability;
}

export interface MailboxEntry {
  readonly id: string;
  readonly orgId: string;
  readonly number: number;
  readonly email: string;
  readonly displayName: string | null;
  readonly provider: string;
  readonly authType: 'password' | 'oauth2';
  /** The provider must be authorized before any connection; absent = no. */
  readonly awaitsAuthorization?: boolean;
  readonly imap: HostSettings;
  readonly smtp: HostSettings | null;
  readonly state: MailboxState;
  readonly stateReason: string | null;
  readonly capabilities: readonly string[];
  /** By number; a renamed folder keeps its number. */
  readonly folders: readonly FolderEntry[];
  /** There are more folders, which a grant does not reach (`asReached`). */
  readonly hasHiddenFolders?: boolean;
  /** Roles set by a person; the server's own come from the folder list. */
  readonly folderRoles: Readonly<Partial<Record<FolderRole, number | null>>>;
  /** Roles by the server's SPECIAL-USE or by folder names, by folder number. */
  readonly detectedRoles: Readonly<Partial<Record<FolderRole, number>>>;
  readonly trustedAuthservIds: readonly string[];
  readonly createdAt: string;
  readonly updatedAt: string;
  /** Set while a removed mailbox can be restored; it is erased at this time. */
  readonly eraseAt: string | null;
  /** Increases with each event of the mailbox: its ETag. */
  readonly version: number;
}

/** The policy of an organisation; its id is that of the organisation. */
export interface PolicyEntry extends Policy {
  readonly id: string;
}

export interface DirectoryState {
  readonly organisations: ReadonlyMap<string, OrganisationEntry>;
  readonly people: ReadonlyMap<string, PersonEntry>;
  /** By `<org_id>/<usr_id>`. Read through `membership.ts` only: a membership may not count at present. */
  readonly members: ReadonlyMap<string, MemberEntry>;
  /** org id → ids of its people. */
  readonly userIdsByOrg: ReadonlyMap<string, ReadonlySet<string>>;
  /** person id → ids of the person's organisations. */
  readonly orgIdsByUser: ReadonlyMap<string, ReadonlySet<string>>;
  readonly invites: ReadonlyMap<string, InviteEntry>;
  readonly agents: ReadonlyMap<string, AgentEntry>;
  readonly agentOwners: ReadonlyMap<string, AgentOwnersEntry>;
  readonly tokens: ReadonlyMap<string, TokenEntry>;
  readonly tokenIdByHash: ReadonlyMap<string, string>;
  readonly oauthGrants: ReadonlyMap<string, OAuthGrantEntry>;
  readonly oauthClients: ReadonlyMap<string, OAuthClientEntry>;
  readonly sessions: ReadonlyMap<string, SessionEntry>;
  readonly sessionIdByHash: ReadonlyMap<string, string>;
  /** By person id. */
  readonly personSessions: ReadonlyMap<string, PersonSessionsEntry>;
  readonly mailboxes: ReadonlyMap<string, MailboxEntry>;
  /** Block of mailbox numbers → the highest number taken in it (`mailbox-number.ts`). */
  readonly highestMailboxNumbers: ReadonlyMap<number, number>;
  readonly grants: ReadonlyMap<string, GrantEntry>;
  /** mailbox id → principal id → grant id. */
  readonly grantIds: ReadonlyMap<string, ReadonlyMap<string, string>>;
  /** principal id → ids of the mailboxes it has a grant on. */
  readonly mailboxIdsByPrincipal: ReadonlyMap<string, ReadonlySet<string>>;
  /** org id → its own policy; without one the built-in policy applies. */
  readonly policies: ReadonlyMap<string, PolicyEntry>;
  readonly legalHolds: ReadonlyMap<string, LegalHoldEntry>;
}

export interface Directory {
  readonly state: DirectoryState;
  /** Increases with every applied change, so that what is derived from `state` can be cached. */
  readonly version: number;
  /**
   * False while the copy may lack a change that another process has already answered: no rights are known
   * then. Who was asked in the last minute keeps itself current; another waits with `untilCurrent`.
   */
  readonly isCurrent: boolean;
  /** Waits until the copy is current, at most a second: a busy process needs only a moment. */
  untilCurrent(): Promise<boolean>;
  /** Resolves when the copy includes the position. Throws `store_unavailable` after a second. */
  waitFor(position: Position): Promise<void>;
  /** As `waitFor`, and until no process works with an older copy: about a second. */
  waitForAll(position: Position): Promise<void>;
}
