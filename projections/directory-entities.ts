/** The directory's entities, and the form of a change. */
import type {
  AgentEntry,
  GrantEntry,
  InviteEntry,
  MailboxEntry,
  MemberEntry,
  OAuthClientEntry,
  OAuthGrantEntry,
  OrganisationEntry,
  PersonEntry,
  PersonSessionsEntry,
  PolicyEntry,
  TokenEntry,
} from '../commands/ports/directory.ts';
import type { AgentOwnersEntry, LegalHoldEntry } from '../commands/ports/legal-holds.ts';
import type { StoredEvent } from '../commands/values/event.ts';
import type { ProjectedEvent } from './projection.ts';

/** Streams whose events make up the directory. */
export const DIRECTORY_STREAMS = [
  'organisation-',
  'account-',
  'agent-',
  'invite-',
  'token-',
  'oauthGrant-',
  'oauthClient-',
  'session-',
  'mailbox-',
  'policy-',
  'legalHold-',
] as const;

export interface EntityTypes {
  organisation: OrganisationEntry;
  person: PersonEntry;
  member: MemberEntry;
  invite: InviteEntry;
  agent: AgentEntry;
  agentOwners: AgentOwnersEntry;
  token: TokenEntry;
  oauthGrant: OAuthGrantEntry;
  oauthClient: OAuthClientEntry;
  sessions: PersonSessionsEntry;
  mailbox: MailboxEntry;
  grant: GrantEntry;
  policy: PolicyEntry;
  legalHold: LegalHoldEntry;
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

export const NOTHING: DirectoryChange = { put: [], remove: [] };
export const put = (...entities: readonly Entity[]): DirectoryChange => ({ put: entities, remove: [] });

/** The event that changes the directory, and where it is in the log. */
export type DirectoryEvent = Pick<ProjectedEvent, 'streamName' | 'fact' | 'position'>;

/** Of an event that cannot be read: its envelope may still say so. */
export const organisationOf = ({ org_id: orgId }: StoredEvent['metadata']): string =>
  typeof orgId === 'string' ? orgId : '';
