/** Scopes, roles and presets (`contract.md` 3): closed lists, one verb each; no scope implies another. */
import { z } from 'zod';
import { GatewayError } from './errors.ts';

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
  'holds:manage', 'audit:disclose',
] as const; // prettier-ignore

export const SCOPES = [...MAILBOX_SCOPES, ...ORG_SCOPES] as const;
export type MailboxScope = (typeof MAILBOX_SCOPES)[number];
export type OrgScope = (typeof ORG_SCOPES)[number];
export type Scope = MailboxScope | OrgScope;

export const ROLES = ['owner', 'admin', 'approver', 'member', 'auditor'] as const;
export type Role = (typeof ROLES)[number];

export const ROLE_SCOPES: Readonly<Record<Role, readonly OrgScope[]>> = {
  owner: ORG_SCOPES,
  admin: ORG_SCOPES.filter((scope) => scope !== 'org:manage' && scope !== 'audit:disclose'),
  approver: ['org:read', 'mailboxes:read', 'approvals:read', 'approvals:decide'],
  member: ['org:read', 'mailboxes:read', 'approvals:read'],
  auditor: ['org:read', 'mailboxes:read', 'approvals:read', 'deliveries:read', 'audit:read', 'audit:export'],
};

/** The role, and those that give nothing beyond it. */
export const rolesWithin = (role: Role): readonly Role[] =>
  ROLES.filter((each) => ROLE_SCOPES[each].every((scope) => ROLE_SCOPES[role].includes(scope)));

/** Scopes that exist only in a person's stepped-up session, never in a token. */
export const SESSION_ONLY_SCOPES: readonly Scope[] = ['approvals:decide', 'policy:manage', 'audit:disclose'];

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
const PRESET_NAMES = Object.keys(PRESETS) as [Preset, ...Preset[]];

const mailboxScopes: ReadonlySet<string> = new Set(MAILBOX_SCOPES);
export const isMailboxScope = (scope: Scope): scope is MailboxScope => mailboxScopes.has(scope);

export const PresetField = z
  .enum(PRESET_NAMES)
  .optional()
  .describe('Instead of scopes: as much of this preset as you hold yourself; the answer lists it.');

/** The scopes of a new grant or token: a list, or a preset. */
interface ScopeChoice<S extends Scope> {
  readonly scopes?: readonly S[] | undefined;
  readonly preset?: Preset | undefined;
}

/**
 * The chosen scopes, none beyond `held`. A list must be held completely; a preset gives the part that is held. Throws
 * `invalid_request` unless exactly one of the two is given, `insufficient_scope` when nothing or not all is held.
 */
export function chosenScopes<S extends Scope>(choice: ScopeChoice<S>, held: readonly S[]): readonly S[] {
  const { scopes, preset } = choice;
  if ((scopes === undefined) === (preset === undefined)) throw oneOfBoth();
  if (scopes) {
    const missing = scopes.filter((scope) => !held.includes(scope));
    if (missing.length > 0) throw tooWide(missing);
    return [...new Set(scopes)];
  }
  const wanted: readonly Scope[] = preset === undefined ? [] : PRESETS[preset];
  const given = held.filter((scope) => wanted.includes(scope));
  if (given.length === 0) throw tooWide(wanted);
  return given;
}

const oneOfBoth = (): GatewayError => {
  const message = 'Name either scopes or a preset.';
  return new GatewayError('invalid_request', message, {
    details: { issues: [{ path: 'scopes', code: 'custom', message }] },
  });
};

const tooWide = (required: readonly Scope[]): GatewayError =>
  new GatewayError('insufficient_scope', 'You can only give scopes that you hold here yourself.', {
    details: { required },
  });
