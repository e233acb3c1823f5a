/** A line of the audit trail as callers see it (`contract.md` 12). */
import { z } from 'zod';
import { ACTOR_TYPES, SURFACES } from '../../commands/kernel/event.ts';
import type { Ports } from '../../commands/kernel/ports.ts';
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
  action: z.string(),
  outcome: AuditOutcomeField,
  policy: z.record(z.string(), z.unknown()).optional(),
  data: z.record(z.string(), z.unknown()).describe('Null where what was written is erased.'),
  position: z.string(),
});
export type AuditLine = z.output<typeof AuditLine>;

/** Where a request came from, as the faces seal it; anything else is left out. */
const Client = z.object({ ip: z.string().optional(), user_agent: z.string().optional() }).catch({});

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
    action: entry.action,
    outcome: entry.outcome,
    ...(entry.policy === null ? {} : { policy: entry.policy }),
    data: { ...data },
    position: entry.position,
  });
}
