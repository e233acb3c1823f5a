/** A line of the audit trail as callers see it (`contract.md` 12). */
import { z } from 'zod';
import type { Caller } from '../../commands/kernel/access.ts';
import type { Context } from '../../commands/kernel/capability.ts';
import { ACTOR_TYPES, SURFACES } from '../../commands/values/event.ts';
import type { Ports } from '../../commands/ports/ports.ts';
import type { Role } from '../../commands/values/scopes.ts';
import { AUDIT_OUTCOMES } from '../../projections/audit-facts.ts';
import { type AuditEntry, openAudit } from '../../projections/audit-queries.ts';

export const AuditOutcomeField = z.enum(AUDIT_OUTCOMES);

export const AuditLine = z.object({
  id: z.string(),
  seq: z.int().describe('Counts the lines of the organisation from 1, without gaps.'),
  type: z.string().describe('The event type.'),
  occurred_at: z.string(),
  actor: z.object({
    type: z.enum(ACTOR_TYPES),
    id: z.string(),
    token_id: z.string().nullable(),
    session_id: z.string().nullable(),
    ip: z.string().optional(),
    user_agent: z.string().optional(),
  }),
  surface: z.enum(SURFACES),
  request_id: z.string(),
  correlation_id: z.string(),
  causation_id: z.string(),
  resource: z.object({ type: z.string(), id: z.string() }).nullable(),
  mailbox_id: z.string().nullable(),
  approval_id: z.string().optional().describe('The approval it belongs to.'),
  action: z.string(),
  outcome: AuditOutcomeField,
  policy: z.record(z.string(), z.unknown()).optional(),
  data: z
    .record(z.string(), z.unknown())
    .optional()
    .describe('Null if its texts were erased. Absent for a mailbox that you may not see.'),
  position: z.string(),
});
export type AuditLine = z.output<typeof AuditLine>;

/** Where a request came from, as the adapters seal it; anything else is omitted. */
const Client = z.object({ ip: z.string().optional(), user_agent: z.string().optional() }).catch({});

const LOOKING_ROLES: ReadonlySet<Role> = new Set(['owner', 'admin', 'auditor']);

/** Owner, admin and auditor see what happened in a mailbox; with a token for some mailboxes, in those. */
const maySeeData = ({ role, token }: Caller, { mailboxId }: AuditEntry): boolean =>
  mailboxId === null ||
  (role !== null && LOOKING_ROLES.has(role) && (token.mailboxIds?.includes(mailboxId) ?? true));

/** The line as this caller may see it. Throws `store_unavailable`. */
export async function showLine(
  { ports, caller }: Pick<Context, 'ports' | 'caller'>,
  entry: AuditEntry,
): Promise<AuditLine> {
  const { data, ...line } = await describeLine(ports, entry);
  return data !== undefined && maySeeData(caller, entry) ? { ...line, data } : line;
}

/** The line with its sealed texts opened. Throws `store_unavailable`. */
export async function describeLine(
  { personal }: Pick<Ports, 'personal'>,
  entry: AuditEntry,
): Promise<AuditLine> {
  const { data, client } = await openAudit(entry, (sealed) => personal.open(sealed));
  const { actor } = entry;
  const known = { type: actor.type, id: actor.id, token_id: actor.tokenId, session_id: actor.sessionId };
  return AuditLine.parse({
    id: entry.id,
    seq: entry.seq,
    type: entry.type,
    occurred_at: entry.occurredAt.toISOString(),
    actor: { ...known, ...(client === null ? {} : Client.parse(JSON.parse(client))) },
    surface: entry.surface,
    request_id: entry.requestId,
    correlation_id: entry.correlationId,
    causation_id: entry.causationId,
    resource: entry.resource,
    mailbox_id: entry.mailboxId,
    ...(entry.approvalId === null ? {} : { approval_id: entry.approvalId }),
    action: entry.action,
    outcome: entry.outcome,
    ...(entry.policy === null ? {} : { policy: entry.policy }),
    data: { ...data },
    position: entry.position,
  });
}
