/** GET /users/me/export: everything the gateway holds about a person, as JSON for that person. */
import { z } from 'zod';
import { type Context, defineCapability } from '../../commands/kernel/capability.ts';
import { openSessionsOf } from '../../commands/accounts/session.ts';
import { Agent, describeAgent } from '../../commands/organisation/add-agent.ts';
import { ConnectedApplication, describeConnection } from '../../commands/oauth/application-payload.ts';
import { isConnected } from '../../commands/oauth/connections.ts';
import { describeToken, Token } from '../../commands/organisation/manage-tokens.ts';
import { describeMe, Me } from '../../commands/organisation/own-account.ts';
import type { AuditEntry } from '../../projections/audit-queries.ts';
import { listActsOf } from '../../projections/audit-of-person.ts';
import { listTokenUses } from '../../projections/token-use.ts';
import { AuditLine, describeLine } from '../audit/audit-line.ts';
import { decodeCursor, encodeCursor, Page } from '../paging/page.ts';

/** Audit lines of one answer. */
const MOST_LINES = 1_000;

const Input = z.strictObject({
  cursor: z.string().min(1).max(2_000).optional().describe('audit.page.next_cursor of the last answer.'),
});

const ExportedSession = z.object({
  id: z.string(),
  org_id: z.string(),
  started_at: z.string(),
  expires_at: z.string(),
  client: z.string().nullable().describe('Address and browser as JSON.'),
});

const Export = z.object({
  exported_at: z.string(),
  account: Me,
  sessions: z.array(ExportedSession),
  tokens: z
    .array(Token.extend({ org_id: z.string() }))
    .describe('Yours and those of your agents; no secrets.'),
  agents: z.array(Agent.extend({ org_id: z.string() })),
  grants: z
    .array(
      z.object({
        id: z.string(),
        mailbox_id: z.string(),
        principal_id: z.string(),
        scopes: z.array(z.string()),
        folder_roles: z.array(z.string()).nullable(),
        expires_at: z.string().nullable(),
        created_at: z.string(),
      }),
    )
    .describe('Yours and those of your agents.'),
  connected_applications: z
    .array(ConnectedApplication.extend({ org_id: z.string() }))
    .describe('Those that act in your name now; what ended is in the audit lines.'),
  invites: z
    .array(
      z.object({
        id: z.string(),
        org_id: z.string(),
        role: z.string(),
        created_at: z.string(),
        expires_at: z.string(),
      }),
    )
    .describe('Invites you made that wait; without the address, which is of another person.'),
  audit: z
    .object({
      items: z.array(AuditLine.extend({ org_id: z.string().nullable().describe('Null in your own trail.') })),
      page: Page,
    })
    .describe(
      `Up to ${String(MOST_LINES)} lines of what you did, in every organisation, and of your own trail; the next ones with page.next_cursor.`,
    ),
});
type Export = z.output<typeof Export>;

export const exportMe = defineCapability<z.output<typeof Input>, Export>({
  name: 'export_me',
  title: 'Export the own data',
  summary: 'Everything held about you, and every line of the trail that you made.',
  description:
    'Account, organisations, sessions, tokens, agents, grants, invites you made, and what you did in every organisation, as JSON. ' +
    'Of other people only ids; texts that were sealed for another person or a mailbox are null.',
  effect: 'read',
  access: 'stepped-up-session',
  whileDeleted: true,
  rest: { method: 'get', path: '/users/me/export' },
  tool: null,
  idempotency: { kind: 'none' },
  input: Input,
  output: Export,
  handle: async ({ cursor }, context) => {
    const { caller, ports } = context;
    const { state } = ports.directory;
    const now = ports.clock.now();
    const userId = caller.principal.id;
    const agents = [...state.agents.values()].filter(({ ownerId }) => ownerId === userId);
    const isOwn = ({ principalId }: { readonly principalId: string }): boolean =>
      principalId === userId || agents.some(({ id }) => id === principalId);
    return {
      exported_at: now.toISOString(),
      account: describeMe(context),
      sessions: await sessionsOf(context, userId),
      tokens: [...state.tokens.values()]
        .filter(isOwn)
        .map((entry) => ({ ...describeToken(entry, now), org_id: entry.orgId })),
      agents: agents.map((entry) => ({ ...describeAgent(entry), org_id: entry.orgId })),
      grants: [...state.grants.values()].filter(isOwn).map((grant) => ({
        id: grant.id,
        mailbox_id: grant.mailboxId,
        principal_id: grant.principalId,
        scopes: [...grant.scopes],
        folder_roles: grant.folderRoles && [...grant.folderRoles],
        expires_at: grant.expiresAt,
        created_at: grant.createdAt,
      })),
      connected_applications: await connectionsOf(context, userId),
      invites: [...state.invites.values()]
        .filter(({ createdBy }) => createdBy === userId)
        .map(({ id, orgId, role, createdAt, expiresAt }) => ({
          id,
          org_id: orgId,
          role,
          created_at: createdAt,
          expires_at: expiresAt,
        })),
      audit: await linesOf(context, userId, cursor),
    };
  },
});

async function sessionsOf({ ports }: Context, userId: string): Promise<Export['sessions']> {
  return await Promise.all(
    openSessionsOf(ports.directory, userId).map(async ({ id, orgId, startedAt, expiresAt, client }) => ({
      id,
      org_id: orgId,
      started_at: startedAt,
      expires_at: expiresAt,
      client: client && (await ports.personal.open(client)),
    })),
  );
}

async function connectionsOf({ ports }: Context, userId: string): Promise<Export['connected_applications']> {
  const { state } = ports.directory;
  const now = ports.clock.now();
  const entries = [...state.oauthGrants.values()].filter(
    (entry) => entry.principalId === userId && isConnected(state, entry, now),
  );
  const uses = await listTokenUses(
    ports.sql,
    entries.map(({ id }) => id),
  );
  return entries.map((entry) => ({
    ...describeConnection(state, entry, uses.get(entry.id) ?? null),
    org_id: entry.orgId,
  }));
}

const Keyset = z.object({ trail: z.string(), seq: z.int() });

async function linesOf(
  context: Context,
  userId: string,
  cursor: string | undefined,
): Promise<Export['audit']> {
  const { ports } = context;
  const binding = { route: 'export', query: null };
  const after = cursor === undefined ? null : decodeCursor(context, binding, cursor, Keyset);
  const asOf = ports.clock.now().toISOString();
  const found = await listActsOf(ports.sql, userId, { after, limit: MOST_LINES + 1 });
  const shown = found.slice(0, MOST_LINES);
  const last = found.length > MOST_LINES ? shown.at(-1) : undefined;
  return {
    items: await Promise.all(
      shown.map(async ({ orgId, entry }) => ({ ...(await ownLine(context, userId, entry)), org_id: orgId })),
    ),
    page: {
      next_cursor: last
        ? encodeCursor(context, binding, { trail: last.orgId ?? userId, seq: last.entry.seq })
        : null,
      limit: MOST_LINES,
      as_of: asOf,
    },
  };
}

/** Only what was sealed for this person is opened. */
const ownLine = ({ ports }: Context, userId: string, entry: AuditEntry): Promise<AuditLine> =>
  describeLine(
    {
      personal: {
        ...ports.personal,
        open: (sealed) =>
          ports.personal.ownerOf(sealed) === userId ? ports.personal.open(sealed) : Promise.resolve(null),
      },
    },
    entry,
  );
