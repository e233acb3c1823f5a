/** A line of the audit trail as callers see it (`contract.md` 12). */
import { z } from 'zod';
import type { Caller } from '../../commands/kernel/access.ts';
import { ACTOR_TYPES, SURFACES } from '../../commands/values/event.ts';
import type { Ports } from '../../commands/ports/ports.ts';
import type { Role } from '../../commands/values/scopes.ts';
import { AUDIT_OUTCOMES } from '../../projections/audit-outcomes.ts';
import { type AuditEntry, openAudit, textsInData } from '../../projections/audit-queries.ts';
import { CLIENT_AT, type LineTexts, openTexts, type TextSight } from './line-texts.ts';

export const AuditOutcomeField = z.enum(AUDIT_OUTCOMES);

export const AuditLine = z.object({
  id: z.string(),
  seq: z.int().describe('Counts the lines of the organisation from 1, without gaps.'),
  type: z.string().describe('The event type.'),
  occurred_at: z
    .string()
    .nullable()
    .describe('This and the rest of who and where is null only for an event that cannot be read.'),
  actor: z.object({
    type: z.enum(ACTOR_TYPES).nullable(),
    id: z.string().nullable(),
    token_id: z.string().nullable(),
    session_id: z.string().nullable(),
    ip: z.string().optional(),
    user_agent: z.string().optional(),
  }),
  surface: z.enum(SURFACES).nullable(),
  request_id: z.string().nullable(),
  correlation_id: z.string().nullable(),
  causation_id: z.string().nullable(),
  resource: z.object({ type: z.string(), id: z.string() }).nullable(),
  mailbox_id: z.string().nullable(),
  approval_id: z.string().optional().describe('The approval it belongs to.'),
  action: z.string(),
  outcome: AuditOutcomeField,
  policy: z.record(z.string(), z.unknown()).optional(),
  data: z
    .record(z.string(), z.unknown())
    .optional()
    .describe('Texts that were erased are null. Absent for a mailbox that you may not see.'),
  withheld: z
    .array(z.string())
    .optional()
    .describe(
      'Texts of data that are null because they belong to a mailbox that you may not read, or do not open: JSON Pointers as in an ' +
        'exported file, such as /data/email. Absent without any.',
    ),
  erased: z
    .array(z.string())
    .optional()
    .describe('Texts of data that are null because the key of their owner was erased; as in withheld.'),
  position: z.string(),
  hash: z.string().describe('The leaf of the line in the tree of the trail, base64 (docs/audit-format.md).'),
});
export type AuditLine = z.output<typeof AuditLine>;

/** Where a request came from, as the adapters seal it; anything else is omitted. */
const Client = z.object({ ip: z.string().optional(), user_agent: z.string().optional() }).catch({});

const LOOKING_ROLES: ReadonlySet<Role> = new Set(['owner', 'admin', 'auditor']);

/** Owner, admin and auditor see what happened in a mailbox; with a token for some mailboxes, in those. */
export const maySeeData = ({ role, token }: Caller, { mailboxId }: Pick<AuditEntry, 'mailboxId'>): boolean =>
  mailboxId === null ||
  (role !== null && LOOKING_ROLES.has(role) && (token.mailboxIds?.includes(mailboxId) ?? true));

/** The line as this caller may see it. Throws `store_unavailable`. */
export const showLine = async (caller: Caller, sight: TextSight, entry: AuditEntry): Promise<AuditLine> =>
  lineWith(entry, await openTexts(sight, entry), maySeeData(caller, entry));

/** The line with these of its texts, those that were never sealed, and with its data or not. */
export function lineWith(entry: AuditEntry, texts: LineTexts, showsData: boolean): AuditLine {
  const byPlace = new Map(texts.opened.map(({ at, text }) => [at, text]));
  const hidden = new Set([...texts.withheld, ...texts.erased]);
  const ofShown = (places: readonly string[]): string[] =>
    places.filter((at) => showsData || at === CLIENT_AT);
  const [withheld, erased] = [ofShown(texts.withheld), ofShown(texts.erased)];
  return {
    ...lineOf(entry, byPlace.get(CLIENT_AT) ?? null),
    ...(showsData
      ? { data: { ...textsInData(entry, (at, text) => byPlace.get(at) ?? (hidden.has(at) ? null : text)) } }
      : {}),
    ...(withheld.length > 0 ? { withheld } : {}),
    ...(erased.length > 0 ? { erased } : {}),
  };
}

/** The line with each sealed text that opens. Throws `store_unavailable`. */
export async function describeLine(
  { personal }: Pick<Ports, 'personal'>,
  entry: AuditEntry,
): Promise<AuditLine> {
  const { data, client } = await openAudit(entry, (sealed) => personal.open(sealed));
  return { ...lineOf(entry, client), data: { ...data } };
}

/** Without data. */
function lineOf(entry: AuditEntry, client: string | null): AuditLine {
  const { actor } = entry;
  const known = { type: actor.type, id: actor.id, token_id: actor.tokenId, session_id: actor.sessionId };
  return AuditLine.parse({
    id: entry.id,
    seq: entry.seq,
    type: entry.type,
    occurred_at: entry.occurredAt,
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
    position: entry.position,
    hash: entry.leaf,
  });
}
