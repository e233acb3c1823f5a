/** get_identity: the caller and its rights, so that clients need not hard-code them. */
import { z } from 'zod';
import type { Caller, MailboxAccess } from '../../commands/kernel/access.ts';
import { mayCall } from '../../commands/kernel/authorize.ts';
import { type Context, defineCapability } from '../../commands/kernel/capability.ts';
import type { MailboxEntry } from '../../commands/ports/directory.ts';
import { asReached, effectiveRoles } from '../../commands/kernel/folders.ts';
import { type Quotas, tighterQuotas } from '../../commands/kernel/grant-quotas.ts';
import { FILTER_KEYS, SERVER_DEFINED_FILTERS } from '../../commands/mail/mail-filter.ts';
import { POLICY_ACTIONS, type PolicyAction } from '../../commands/values/policy-document.ts';
import { decideActionPolicy, decideSendPolicy } from '../../commands/policy/decide-for-caller.ts';

const MailboxIdentity = z.object({
  id: z.string(),
  email: z.string(),
  state: z.string(),
  folder_roles: z.record(z.string(), z.string()).describe('Role → fld_ id.'),
  scopes: z.array(z.string()),
  filters: z.array(z.string()).describe('Filter keys this mailbox answers.'),
  server_defined: z.array(z.string()).describe('Filter keys the mail server evaluates by its own rules.'),
  requires_approval: z
    .array(z.string())
    .describe(
      'Actions that policy allows this caller only with approval; send: to a new external recipient.',
    ),
  limits: z
    .record(z.string(), z.number())
    .describe('sends_per_hour: what the grant here and the limits of agents allow; absent = any number.'),
});

const Identity = z.object({
  principal: z.object({
    type: z.enum(['person', 'delegated', 'agent', 'system']),
    id: z.string(),
    name: z.string(),
    on_behalf_of: z.string().optional(),
  }),
  org: z.object({ id: z.string(), name: z.string() }),
  token: z.object({
    id: z.string(),
    name: z.string(),
    surface: z.enum(['rest', 'mcp']),
    scopes: z.array(z.string()),
    expires_at: z.string(),
  }),
  mailboxes: z.array(MailboxIdentity),
  tools: z.array(z.string()).describe('Every tool this token may call by name.'),
  advertised_tools: z.array(z.string()).describe('Tools listed before the advanced ones are switched on.'),
  limits: z.record(z.string(), z.number()),
  server: z.object({ version: z.string(), mcp_revisions: z.array(z.string()) }),
});
type Identity = z.output<typeof Identity>;

export const getIdentity = defineCapability<Record<string, never>, Identity>({
  name: 'get_identity',
  title: 'Who am I',
  summary: 'Mailboxes, folder roles, tools and limits of this token.',
  description:
    'Start here. Returns the mailbox ids, folder roles, tools and limits of this token. Use these ids in other calls; ' +
    'do not guess them.',
  effect: 'read',
  access: 'any-token',
  rest: { method: 'get', path: '/identity' },
  tool: {
    surface: 'advertised',
    hints: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  },
  idempotency: { kind: 'none' },
  input: z.strictObject({}),
  output: Identity,
  handle: async (_, context) => {
    const known = answers.get(context.caller);
    if (known) return known;
    const identity = describe(context);
    answers.set(context.caller, identity);
    return identity;
  },
});

/** A caller is rebuilt whenever the directory changes, so an answer about it stays true for its lifetime. */
const answers = new WeakMap<Caller, Identity>();

function describe({ caller, registry, ports }: Context): Identity {
  const tools = registry.filter((capability) => capability.tool !== null && mayCall(caller, capability));
  const { principal, org, token } = caller;
  return {
    principal: {
      type: caller.actor,
      id: principal.id,
      name: principal.name,
      ...(caller.onBehalfOf === null ? {} : { on_behalf_of: caller.onBehalfOf }),
    },
    org: { id: org.id, name: org.name },
    token: {
      id: token.id,
      name: token.name,
      surface: token.surface,
      scopes: [...token.scopes],
      expires_at: token.expiresAt,
    },
    mailboxes: [...caller.mailboxes].flatMap(([id, access]) => {
      const mailbox = ports.directory.state.mailboxes.get(id);
      return mailbox ? [describeMailbox(mailbox, access, { caller, ports })] : [];
    }),
    tools: tools.map(({ name }) => name),
    advertised_tools: tools.filter(({ tool }) => tool?.surface === 'advertised').map(({ name }) => name),
    limits: {
      reads_per_minute: ports.server.limits.readsPerMinute,
      writes_per_minute: ports.server.limits.writesPerMinute,
      concurrent_requests: ports.server.limits.concurrentRequests,
      concurrent_waits: ports.server.limits.concurrentWaits,
      provider_connections: ports.server.limits.providerConnections,
      json_body_bytes: ports.server.limits.jsonBodyBytes,
      mcp_result_bytes: ports.server.limits.mcpResultBytes,
      agent_sends_per_hour: ports.server.limits.sendsPerHour,
      sign_ins_per_minute: ports.server.limits.signInsPerMinute,
      ...PAGE_LIMITS,
    },
    server: { version: ports.server.version, mcp_revisions: [...ports.server.mcpRevisions] },
  };
}

const PAGE_LIMITS = {
  page_items: 200,
  page_items_mcp: 100,
  messages_per_operation: 500,
  body_chars: 262_144,
};

function describeMailbox(
  mailbox: MailboxEntry,
  access: MailboxAccess,
  { caller, ports }: Pick<Context, 'caller' | 'ports'>,
): Identity['mailboxes'][number] {
  const { scopes, quotas } = access;
  const roles = Object.entries(effectiveRoles(asReached(mailbox, access))).map(([role, number]) => [
    role,
    ports.locators.folder(mailbox.number, number),
  ]);
  return {
    id: mailbox.id,
    email: mailbox.email,
    state: mailbox.state,
    folder_roles: Object.fromEntries(roles) as Record<string, string>,
    scopes: [...scopes],
    filters: [...FILTER_KEYS],
    server_defined: [...SERVER_DEFINED_FILTERS],
    requires_approval: [...requiresApproval(mailbox, { caller, ports })],
    limits: { ...tighterQuotas(quotas, ofAgents({ caller, ports })) },
  };
}

/** An agent's sends in all mailboxes count together (`contract.md` 15). */
const ofAgents = ({ caller, ports }: Pick<Context, 'caller' | 'ports'>): Quotas | null =>
  caller.actor === 'agent' ? { sends_per_hour: ports.server.limits.sendsPerHour } : null;

/** A recipient that no rule can name (RFC 2606), because policy decides sends by recipient. */
const TO_A_STRANGER = {
  recipients: ['somebody@stranger.invalid'],
  writtenTo: new Set<string>(),
  attachments: [],
  headers: [],
};

function requiresApproval(
  mailbox: MailboxEntry,
  asking: Pick<Context, 'caller' | 'ports'>,
): readonly PolicyAction[] {
  return POLICY_ACTIONS.filter((action) => {
    const { decision } =
      action === 'send'
        ? decideSendPolicy(asking, mailbox, TO_A_STRANGER)
        : decideActionPolicy(asking, mailbox.id, [action]);
    return decision === 'require';
  });
}
