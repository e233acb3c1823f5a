/** Queries on `read.audit`. The organisation is a condition of each. */
import type { Sql } from '../commands/ports/ports.ts';
import { GatewayError } from '../commands/values/errors.ts';
import { idToUuid, uuidToId } from '../commands/values/ids.ts';
import { storableText } from './audit.ts';
import type { AuditResource } from './audit-facts.ts';
import type { AuditOutcome } from './audit-outcomes.ts';
import type { Open } from './projection.ts';
import { openSealedFields, withoutVerifiers, withTexts } from './sealed-fields.ts';
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

/** What belongs to a resource: of an approval every line that names it. */
export const ofResource = (id: string | undefined): Pick<AuditFilter, 'approval' | 'resource'> =>
  id?.startsWith('chk_') === true ? { approval: id } : { resource: id };

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
  /** RFC 3339. This and the rest of the envelope is null only for an event that cannot be read. */
  readonly occurredAt: string | null;
  readonly actor: {
    readonly type: string | null;
    readonly id: string | null;
    readonly tokenId: string | null;
    readonly sessionId: string | null;
    /** Address and user agent as JSON, sealed. */
    readonly client: Sealed | null;
  };
  readonly surface: string | null;
  readonly requestId: string | null;
  readonly correlationId: string | null;
  readonly causationId: string | null;
  readonly resource: AuditResource | null;
  readonly mailboxId: string | null;
  readonly approvalId: string | null;
  readonly action: string;
  readonly outcome: AuditOutcome;
  readonly policy: Readonly<Record<string, unknown>> | null;
  /** As stored in the log: sealed texts stay sealed. */
  readonly data: Readonly<Record<string, unknown>>;
  readonly position: string;
  /** The hash of the line in the tree of the trail, base64. */
  readonly leaf: string;
}

export interface Row {
  readonly seq: string;
  readonly position: string;
  readonly event_id: string;
  readonly type: string;
  readonly resource_type: string | null;
  readonly resource_id: string | null;
  readonly mailbox_id: string | null;
  readonly approval_id: string | null;
  readonly action: string;
  readonly outcome: AuditOutcome;
  readonly policy: Readonly<Record<string, unknown>> | null;
  readonly leaf: Buffer;
  readonly line: string;
  readonly body: string;
}

/** Of `Row`, without the body. */
export const COLUMNS =
  'seq, position, event_id, type, resource_type, resource_id, mailbox_id, approval_id, action, outcome, policy, leaf, line';

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

/** What selects the matching lines of a trail: a condition and its parameters, of which `$1` is the trail. */
export function selecting(
  trail: string,
  filter: AuditFilter,
): { readonly condition: string; readonly parameters: readonly unknown[] } {
  const parameters: unknown[] = [trail];
  const conditions = ['trail = $1'];
  for (const [name, condition] of Object.entries(CONDITIONS)) {
    const value = filter[name as keyof AuditFilter];
    if (value === undefined) continue;
    parameters.push(storableText(value));
    conditions.push(condition(`$${String(parameters.length)}`));
  }
  return { condition: conditions.join(' and '), parameters };
}

/** The lines of an organisation that match every given condition, at most `limit`. */
export async function listAudit(
  sql: Sql,
  orgId: string,
  filter: AuditFilter,
  { order, after, limit }: AuditPage,
): Promise<readonly AuditEntry[]> {
  const { condition, parameters } = selecting(orgId, filter);
  const limited = [...parameters, limit, ...(after === null ? [] : [after])];
  const place = parameters.length + 1;
  const beyond = after === null ? '' : ` and seq ${order === 'asc' ? '>' : '<'} $${String(place + 1)}`;
  const rows = await linesOf(
    sql,
    `${condition}${beyond} order by seq ${order} limit $${String(place)}`,
    limited,
  );
  return rows.map(entryOf);
}

/** One line, or null when it is unknown or belongs to another organisation. */
export async function getAudit(sql: Sql, orgId: string, id: string): Promise<AuditEntry | null> {
  const eventId = idToUuid('evt', id);
  if (eventId === null) return null;
  const [row] = await linesOf(sql, 'trail = $1 and event_id = $2', [orgId, eventId]);
  return row ? entryOf(row) : null;
}

/** SQLSTATE: undefined column. */
const UNDEFINED_COLUMN = '42703';
const ASK_AGAIN_SECONDS = 10;

const linesOf = (sql: Sql, condition: string, parameters: readonly unknown[]): Promise<readonly Row[]> =>
  withLines(() =>
    sql.query<Row & Record<string, unknown>>(
      `select ${COLUMNS}, body from read.audit where ${condition}`,
      parameters,
    ),
  );

/** Throws `index_building` while queries still read the table of an older version, whose lines are no lines yet. */
export async function withLines<Rows>(query: () => Promise<Rows>): Promise<Rows> {
  try {
    return await query();
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === UNDEFINED_COLUMN)) throw error;
    throw new GatewayError(
      'index_building',
      'The audit trail is being built for this version; ask again shortly.',
      { retryAfterSeconds: ASK_AGAIN_SECONDS, cause: error },
    );
  }
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

/** The data of a line with the given texts in place of its sealed ones, without verifiers of secrets. */
export const textsInData = (
  { type, data }: Pick<AuditEntry, 'type' | 'data'>,
  textAt: (at: string, text: string) => string | null,
): Readonly<Record<string, unknown>> => withTexts(type, withoutVerifiers(type, data), textAt);

/** The members of a line that are no columns (`docs/audit-format.md` 2). */
interface Line {
  readonly actor: {
    readonly type: string | null;
    readonly id: string | null;
    readonly token_id: string | null;
    readonly session_id: string | null;
  };
  readonly occurred_at: string | null;
  readonly surface: string | null;
  readonly request_id: string | null;
  readonly correlation_id: string | null;
  readonly causation_id: string | null;
}

interface Body {
  /** Absent where the stored data is no JSON object. */
  readonly data?: Readonly<Record<string, unknown>>;
  readonly meta?: { readonly actor?: { readonly client?: unknown } };
}

export function entryOf(row: Row): AuditEntry {
  const line = JSON.parse(row.line) as Line;
  const { data = {}, meta } = JSON.parse(row.body) as Body;
  const client = meta?.actor?.client;
  return {
    id: uuidToId('evt', row.event_id),
    seq: Number(row.seq),
    type: row.type,
    occurredAt: line.occurred_at,
    actor: {
      type: line.actor.type,
      id: line.actor.id,
      tokenId: line.actor.token_id,
      sessionId: line.actor.session_id,
      client: typeof client === 'string' ? (client as Sealed) : null,
    },
    surface: line.surface,
    requestId: line.request_id,
    correlationId: line.correlation_id,
    causationId: line.causation_id,
    resource:
      row.resource_type === null || row.resource_id === null
        ? null
        : { type: row.resource_type, id: row.resource_id },
    mailboxId: row.mailbox_id,
    approvalId: row.approval_id,
    action: row.action,
    outcome: row.outcome,
    policy: row.policy,
    data,
    position: row.position,
    leaf: row.leaf.toString('base64'),
  };
}
