/** Scopes, roles and presets (`contract.md` 3): closed lists, one verb each; no scope implies another. */

export const MAILBOX_SCOPES = [
  'messages:read', 'messages:body', 'messages:raw', 'attachments:read',
  'messages:flag', 'messages:move', 'messages:copy', 'messages:archive', 'messages:spam', 'messages:trash', 'messages:expunge',
  'folders:read', 'folders:manage', 'drafts:read', 'drafts:write', 'drafts:discard', 'drafts:send',
  'approvals:request', 'approvals:commit', 'approvals:cancel',
] as const; // prettier-ignore

export const ORG_SCOPES = [
  'approvals:read', 'approvals:decide', 'mailboxes:read', 'mailboxes:manage', 'mailboxes:grants',
  'webhooks:read', 'webhooks:manage', 'deliveries:read', 'deliveries:replay', 'audit:read', 'audit:export',
  'org:read', 'org:manage', 'members:manage', 'agents:manage', 'tokens:manage', 'policy:manage',
] as const; // prettier-ignore

export const SCOPES = [...MAILBOX_SCOPES, ...ORG_SCOPES] as const;
export type MailboxScope = (typeof MAILBOX_SCOPES)[number];
export type OrgScope = (typeof ORG_SCOPES)[number];
export type Scope = MailboxScope | OrgScope;

export const ROLES = ['owner', 'admin', 'approver', 'member', 'auditor'] as const;
export type Role = (typeof ROLES)[number];

export const ROLE_SCOPES: Readonly<Record<Role, readonly OrgScope[]>> = {
  owner: ORG_SCOPES,
  admin: ORG_SCOPES.filter((scope) => scope !== 'org:manage'),
  approver: ['org:read', 'mailboxes:read', 'approvals:read', 'approvals:decide'],
  member: ['org:read', 'mailboxes:read', 'approvals:read'],
  auditor: ['org:read', 'mailboxes:read', 'approvals:read', 'deliveries:read', 'audit:read', 'audit:export'],
};

/** Scopes that exist only in a person's stepped-up session, never in a token. */
export const SESSION_ONLY_SCOPES: readonly Scope[] = ['approvals:decide', 'policy:manage'];

/** The most an agent may hold, whoever owns it. */
export const AGENT_ORG_SCOPES: readonly OrgScope[] = ['approvals:read', 'mailboxes:read'];

const reader: readonly Scope[] = [
  'messages:read', 'messages:body', 'attachments:read', 'folders:read', 'drafts:read', 'mailboxes:read', 'approvals:read',
]; // prettier-ignore
const triage: readonly Scope[] = [
  ...reader,
  'messages:flag', 'messages:move', 'messages:copy', 'messages:archive', 'messages:spam', 'messages:trash',
  'approvals:request', 'approvals:commit', 'approvals:cancel',
]; // prettier-ignore
const drafter: readonly Scope[] = [...reader, 'drafts:write', 'drafts:discard'];
const sender: readonly Scope[] = [
  ...drafter,
  'drafts:send',
  'approvals:request',
  'approvals:commit',
  'approvals:cancel',
];

export const PRESETS = {
  reader,
  triage,
  drafter,
  sender,
  operator: [...new Set<Scope>([...triage, ...sender, 'messages:expunge'])],
  auditor: ROLE_SCOPES.auditor,
} as const satisfies Record<string, readonly Scope[]>;
export type Preset = keyof typeof PRESETS;
export const PRESET_NAMES = Object.keys(PRESETS) as [Preset, ...Preset[]];

const mailboxScopes: ReadonlySet<string> = new Set(MAILBOX_SCOPES);
export const isMailboxScope = (scope: Scope): scope is MailboxScope => mailboxScopes.has(scope);
