/** Callers as the directory makes them. */
import type { Caller } from '../../../../commands/kernel/access.ts';
import type { Scope } from '../../../../commands/values/scopes.ts';

export interface CallerTraits {
  readonly tokenId?: string;
  readonly orgId?: string;
  readonly principalId?: string;
  readonly scopes?: readonly Scope[];
  readonly mailboxIds?: readonly string[];
}

const ALL_USED: readonly Scope[] = ['messages:read', 'messages:archive', 'messages:copy'];

/** An agent with the same scopes on each of its mailboxes; by default one mailbox and every scope of the samples. */
export function sampleCaller(traits: CallerTraits = {}): Caller {
  const { tokenId = 'tok_1', orgId = 'org_1', principalId = 'agt_1' } = traits;
  const { scopes = ALL_USED, mailboxIds = ['mbx_1'] } = traits;
  const held = new Set(scopes);
  return {
    actor: 'agent',
    principal: { kind: 'agent', id: principalId, name: 'Sample' },
    onBehalfOf: 'usr_1',
    org: { id: orgId, name: 'Org', isDeleted: false },
    token: {
      id: tokenId,
      orgId,
      principalId,
      principalKind: 'agent',
      name: 'sample',
      surface: 'mcp',
      scopes,
      mailboxIds: null,
      expiresAt: '2027-01-01T00:00:00.000Z',
      createdAt: '2026-01-01T00:00:00.000Z',
      position: '1',
      createdBy: 'usr_1',
      revokedAt: null,
      secretHash: null,
    },
    session: null,
    role: null,
    isVerified: true,
    orgScopes: new Set(),
    mailboxes: new Map(mailboxIds.map((id) => [id, { scopes: held, folderRoles: null, quotas: null }])),
    scopes: held,
  };
}
