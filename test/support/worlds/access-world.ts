/** Random small organisations: one token, its principal, two mailboxes, and everything that can limit it. */
import fc from 'fast-check';
import type {
  DirectoryState,
  GrantEntry,
  MailboxEntry,
  TokenEntry,
} from '../../../commands/ports/directory.ts';
import { FOLDER_ROLES, type FolderRole } from '../../../commands/values/folder-roles.ts';
import {
  MAILBOX_SCOPES,
  type MailboxScope,
  type Role,
  ROLES,
  SCOPES,
  type Scope,
} from '../../../commands/values/scopes.ts';
import { agentEntry, memberEntry, membershipsWith, orgEntry, personEntry } from './people.ts';

export const WORLD_NOW = new Date('2026-03-01T12:00:00.000Z');

export interface GrantTraits {
  readonly scopes: readonly MailboxScope[];
  readonly folderRoles: readonly FolderRole[] | null;
  readonly expiresAt: string | null;
}

export interface MailboxTraits {
  readonly isRemoved: boolean;
  readonly isForeign: boolean;
  readonly grant: GrantTraits | null;
  /** The grant of the agent's owner; irrelevant to a person's token. */
  readonly ownersGrant: GrantTraits | null;
}

export interface World {
  readonly kind: 'user' | 'agent';
  /** Role of the person, or of the agent's owner; null = no longer a member. */
  readonly role: Role | null;
  readonly tokenScopes: readonly Scope[];
  readonly tokenMailboxIds: readonly string[] | null;
  readonly mailboxes: readonly MailboxTraits[];
}

const grantArbitrary: fc.Arbitrary<GrantTraits> = fc.record({
  scopes: fc.subarray([...MAILBOX_SCOPES]),
  folderRoles: fc.option(fc.subarray([...FOLDER_ROLES])),
  expiresAt: fc.constantFrom(
    null,
    '2026-03-01T12:00:00.000Z',
    '2026-03-01T12:00:00.001Z',
    '2026-01-01T00:00:00.000Z',
  ),
});

const mailboxArbitrary: fc.Arbitrary<MailboxTraits> = fc.record({
  isRemoved: fc.integer({ min: 0, max: 5 }).map((n) => n === 0),
  isForeign: fc.integer({ min: 0, max: 5 }).map((n) => n === 0),
  grant: fc.option(grantArbitrary),
  ownersGrant: fc.option(grantArbitrary),
});

export const worldArbitrary: fc.Arbitrary<World> = fc.record({
  kind: fc.constantFrom('user', 'agent'),
  role: fc.constantFrom(null, ...ROLES),
  tokenScopes: fc.subarray([...SCOPES]),
  tokenMailboxIds: fc.option(fc.subarray(['mbx_0', 'mbx_1']), { freq: 2 }),
  mailboxes: fc.array(mailboxArbitrary, { minLength: 2, maxLength: 2 }),
});

const AT = '2026-01-01T00:00:00.000Z';

const mailboxEntry = (number: number, { isRemoved, isForeign }: MailboxTraits): MailboxEntry => ({
  id: `mbx_${String(number)}`,
  orgId: isForeign ? 'org_2' : 'org_1',
  number,
  email: 'box@example.com',
  displayName: null,
  provider: 'imap',
  authType: 'password',
  imap: { host: 'imap.example.com', port: 993, security: 'tls' },
  smtp: null,
  state: isRemoved ? 'removed' : 'connected',
  stateReason: null,
  capabilities: [],
  folders: [],
  folderRoles: {},
  detectedRoles: {},
  trustedAuthservIds: [],
  createdAt: AT,
  updatedAt: AT,
  eraseAt: null,
  version: 1,
});

const grantEntry = (id: string, mailboxId: string, principalId: string, traits: GrantTraits): GrantEntry => ({
  id,
  mailboxId,
  principalId,
  principalKind: principalId.startsWith('agt_') ? 'agent' : 'user',
  quotas: null,
  createdAt: AT,
  position: '2',
  createdBy: 'usr_9',
  ...traits,
});

export const tokenOf = ({ kind, tokenScopes, tokenMailboxIds }: World): TokenEntry => ({
  id: 'tok_1',
  orgId: 'org_1',
  principalId: kind === 'agent' ? 'agt_1' : 'usr_1',
  principalKind: kind,
  name: 'token',
  surface: 'rest',
  scopes: tokenScopes,
  mailboxIds: tokenMailboxIds,
  expiresAt: '2026-12-01T00:00:00.000Z',
  createdAt: AT,
  position: '2',
  createdBy: 'usr_9',
  revokedAt: null,
  secretHash: null,
});

/** The directory of a world, as the projection holds it. */
export function stateOf(world: World): DirectoryState {
  const holder = world.kind === 'agent' ? 'agt_1' : 'usr_1';
  const grants = world.mailboxes.flatMap(({ grant, ownersGrant }, number) => {
    const mailboxId = `mbx_${String(number)}`;
    return [
      ...(grant ? [grantEntry(`grt_${String(number)}`, mailboxId, holder, grant)] : []),
      ...(ownersGrant && world.kind === 'agent'
        ? [grantEntry(`grt_owner_${String(number)}`, mailboxId, 'usr_1', ownersGrant)]
        : []),
    ];
  });
  const boxes = world.mailboxes.map((traits, number) => mailboxEntry(number, traits));
  const byMailbox = Map.groupBy(grants, ({ mailboxId }) => mailboxId);
  const byPrincipal = Map.groupBy(grants, ({ principalId }) => principalId);
  return {
    organisations: new Map(['org_1', 'org_2'].map((id) => [id, orgEntry(id)])),
    people: new Map([['usr_1', personEntry('usr_1', { name: 'Olive', email: 'olive@example.com' })]]),
    ...membershipsWith(...(world.role === null ? [] : [memberEntry('org_1', 'usr_1', world.role)])),
    invites: new Map(),
    agents: new Map([['agt_1', agentEntry('agt_1', 'org_1', 'usr_1')]]),
    agentOwners: new Map([
      ['agt_1', { id: 'agt_1', orgId: 'org_1', ownerIds: ['usr_1'], lastOwnerIds: ['usr_1'] }],
    ]),
    tokens: new Map([['tok_1', tokenOf(world)]]),
    tokenIdByHash: new Map(),
    oauthGrants: new Map(),
    oauthClients: new Map(),
    sessions: new Map(),
    sessionIdByHash: new Map(),
    personSessions: new Map(),
    policies: new Map(),
    legalHolds: new Map(),
    mailboxes: new Map(boxes.map((entry) => [entry.id, entry])),
    highestMailboxNumbers: new Map([[0, Math.max(0, ...boxes.map(({ number }) => number))]]),
    grants: new Map(grants.map((entry) => [entry.id, entry])),
    grantIds: new Map(
      [...byMailbox].map(([id, of]) => [id, new Map(of.map((grant) => [grant.principalId, grant.id]))]),
    ),
    mailboxIdsByPrincipal: new Map(
      [...byPrincipal].map(([id, of]) => [id, new Set(of.map(({ mailboxId }) => mailboxId))]),
    ),
  };
}
