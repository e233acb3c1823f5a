/** Queries on `read.audit`. The organisation is a condition of each. */
import type { Sql } from '../commands/ports/ports.ts';
import { idToUuid, uuidToId } from '../commands/values/ids.ts';
import { storableText } from './audit.ts';
import type { AuditOutcome, AuditResource } from './audit-facts.ts';
import type { Open } from './projection.ts';
import { openSealedFields, withoutVerifiers } from './sealed-fields.ts';
import type { Sealed } from '../commands/values/sealed.ts';

export interface AuditFilter {
  /** RFC 3339; `from` is included, `to` is not. */
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  /** Id of the actor. */
  readonly actor?: string | undefined;
  /** Event type. */
  readonly type?: string | undefined;
  /** Id of the resource. */
  readonly resource?: string | undefined;
  /** Id of the approval it belongs to. */
  readonly approval?: string | undefined;
  readonly mailboxId?: string | undefined;
  readonly outcome?: AuditOutcome | undefined;
  readonly requestId?: string | undefined;
}

interface AuditPage {
  readonly order: 'asc' | 'desc';
  /** The `seq` of the last line of the previous page. */
  readonly after: number | null;
  readonly limit: number;
}

export interface AuditEntry {
  /** `evt_…` */
  readonly id: string;
  readonly seq: number;
  readonly type: string;
  readonly occurredAt: Date;
  readonly actor: {
    readonly type: string;
    readonly id: string;
    readonly tokenId: string | null;
    readonly sessionId: string | null;
    /** Address and user agent as JSON, sealed. */
    readonly client: Sealed | null;
  };
  readonly surface: string;
  readonly requestId: string;
  readonly correlationId: string;
  readonly causationId: string;
  readonly resource: AuditResource | null;
  readonly mailboxId: string | null;
  readonly approvalId: string | null;
  readonly action: string;
  readonly outcome: AuditOutcome;
  readonly policy: Readonly<Record<string, unknown>> | null;
  /** As stored in the log: sealed texts stay sealed. */
  readonly data: Readonly<Record<string, unknown>>;
  readonly position: string;
}

interface Row extends Record<string, unknown> {
  readonly seq: string;
  readonly position: string;
  readonly event_id: string;
  readonly type: string;
  readonly occurred_at: Date;
  readonly actor_type: string;
  readonly actor_id: string;
  readonly token_id: string | null;
  readonly session_id: string | null;
  readonly client: Sealed | null;
  readonly surface: string;
  readonly request_id: string;
  readonly correlation_id: string;
  readonly causation_id: string;
  readonly resource_type: string | null;
  readonly resource_id: string | null;
  readonly mailbox_id: string | null;
  readonly approval_id: string | null;
  readonly action: string;
  readonly outcome: AuditOutcome;
  readonly policy: Readonly<Record<string, unknown>> | null;
  readonly data: Readonly<Record<string, unknown>>;
}

const CONDITIONS: Readonly<Record<keyof AuditFilter, (parameter: string) => string>> = {
  from: (parameter) => `occurred_at >= ${parameter}::timestamptz`,
  to: (parameter) => `occurred_at < ${parameter}::timestamptz`,
  actor: (parameter) => `actor_id = ${parameter}`,
  type: (parameter) => `type = ${parameter}`,
  resource: (parameter) => `resource_id = ${parameter}`,
  approval: (parameter) => `approval_id = ${parameter}`,
  mailboxId: (parameter) => `mailbox_id = ${parameter}`,
  outcome: (parameter) => `outcome = ${parameter}`,
  requestId: (parameter) => `request_id = ${parameter}`,
};

/** The lines of an organisation that match every given condition, at most `limit`. */
export async function listAudit(
  sql: Sql,
  orgId: string,
  filter: AuditFilter,
  { order, after, limit }: AuditPage,
): Promise<readonly AuditEntry[]> {
  const parameters: unknown[] = [orgId, limit];
  const conditions = ['org_id = $1'];
  const add = (value: unknown, condition: (parameter: string) => string): void => {
    parameters.push(value);
    conditions.push(condition(`$${String(parameters.length)}`));
  };
  for (const [name, condition] of Object.entries(CONDITIONS)) {
    const value = filter[name as keyof AuditFilter];
    if (value !== undefined) add(storableText(value), condition);
  }
  if (after !== null) add(after, (parameter) => `seq ${order === 'asc' ? '>' : '<'} ${parameter}`);
  const rows = await sql.query<Row>(
    `select * from read.audit where ${conditions.join(' and ')} order by seq ${order} limit $2`,
    parameters,
  );
  return rows.map(entryOf);
}

/** One line, or null when it is unknown or belongs to another organisation. */
export async function getAudit(sql: Sql, orgId: string, id: string): Promise<AuditEntry | null> {
  const eventId = idToUuid('evt', id);
  if (eventId === null) return null;
  const [row] = await sql.query<Row>('select * from read.audit where org_id = $1 and event_id = $2', [
    orgId,
    eventId,
  ]);
  return row ? entryOf(row) : null;
}

interface OpenedAudit {
  /** `null` where the owner was erased. */
  readonly data: Readonly<Record<string, unknown>>;
  /** Address and user agent as JSON. */
  readonly client: string | null;
}

/** A line with its sealed texts opened and its verifiers of secrets removed. Throws `store_unavailable`. */
export async function openAudit({ type, data, actor }: AuditEntry, open: Open): Promise<OpenedAudit> {
  return {
    data: await openSealedFields(type, withoutVerifiers(type, data), open),
    client: actor.client === null ? null : await open(actor.client),
  };
}

const entryOf = (row: Row): AuditEntry => ({
  id: uuidToId('evt', row.event_id),
  seq: Number(row.seq),
  type: row.type,
  occurredAt: row.occurred_at,
  actor: {
    type: row.actor_type,
    id: row.actor_id,
    tokenId: row.token_id,
    sessionId: row.session_id,
    client: row.client,
  },
  surface: row.surface,
  requestId: row.request_id,
  correlationId: row.correlation_id,
  causationId: row.causation_id,
  resource:
    row.resource_type === null || row.resource_id === null
      ? null
      : { type: row.resource_type, id: row.resource_id },
  mailboxId: row.mailbox_id,
  approvalId: row.approval_id,
  action: row.action,
  outcome: row.outcome,
  policy: row.policy,
  data: row.data,
  position: row.position,
});
