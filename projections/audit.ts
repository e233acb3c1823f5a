/** `read.audit`: one line per event of an organisation, numbered without gaps in the order of the log. */
import type { Sql } from '../commands/ports/ports.ts';
import { auditFacts } from './audit-facts.ts';
import { type ProjectedEvent, type Projection, splitStreamName } from './projection.ts';
import { withPrefix } from '../commands/values/ids.ts';
import { approvalEvents } from '../commands/operations/approval-events.ts';

/** Column → type, in the order of the table. `json` and not `jsonb`: data stays as it was written, including NUL escapes. */
const COLUMNS = {
  org_id: 'text',
  seq: 'bigint',
  position: 'bigint',
  event_id: 'uuid',
  type: 'text',
  occurred_at: 'timestamptz',
  actor_type: 'text',
  actor_id: 'text',
  token_id: 'text',
  session_id: 'text',
  client: 'text',
  surface: 'text',
  request_id: 'text',
  correlation_id: 'text',
  causation_id: 'text',
  resource_type: 'text',
  resource_id: 'text',
  mailbox_id: 'text',
  approval_id: 'text',
  action: 'text',
  outcome: 'text',
  policy: 'json',
  data: 'json',
} as const;
type Column = keyof typeof COLUMNS;
type AuditRow = Record<Column, string | null> & {
  readonly org_id: string;
  readonly position: string;
} & Named;

const NULLABLE: readonly Column[] = [
  'token_id', 'session_id', 'client', 'resource_type', 'resource_id', 'mailbox_id', 'approval_id', 'policy',
]; // prettier-ignore
const columns = Object.keys(COLUMNS) as Column[];

export const audit: Projection = {
  name: 'audit',
  version: 2,
  tables: ['audit'],
  create: (tableOf) => {
    const table = tableOf('audit');
    const defined = columns.map(
      (name) => `${name} ${COLUMNS[name]}${NULLABLE.includes(name) ? '' : ' not null'}`,
    );
    return [
      `create table ${table} (${defined.join(', ')}, primary key (org_id, seq))`,
      `create index on ${table} (org_id, resource_id, seq)`,
    ];
  },
  indexes: (tableOf) => {
    const table = tableOf('audit');
    return [
      `create unique index on ${table} (event_id)`,
      `create index on ${table} (org_id, request_id)`,
      `create index on ${table} (org_id, actor_id, seq)`,
      `create index on ${table} (org_id, mailbox_id, seq) where mailbox_id is not null`,
      `create index on ${table} (org_id, approval_id, seq) where approval_id is not null`,
      `create index on ${table} (org_id, occurred_at)`,
    ];
  },
  apply: async ({ events, sql, tableOf }) => {
    const table = tableOf('audit');
    const rows = events.flatMap(rowOf);
    if (rows.length === 0) return;
    await fillAbout(sql, table, rows);
    await number(sql, table, rows);
    const arrays = columns.map((name, index) => `$${String(index + 1)}::${COLUMNS[name]}[]`);
    await sql.query(
      `insert into ${table} (${columns.join(', ')}) select * from unnest(${arrays.join(', ')})`,
      columns.map((name) => rows.map((row) => row[name])),
    );
  },
};

/** Events without an organisation are visible to none. */
function rowOf(event: ProjectedEvent): AuditRow[] {
  const { id, streamName, position, fact, stored } = event;
  const { meta } = fact;
  if (meta.org_id === null) return [];
  const facts = auditFacts(fact);
  const subject = subjectOf(streamName);
  const resource = facts.resource === undefined ? subject : facts.resource;
  const derived =
    facts.mailboxId === undefined ? (subject.type === 'mailbox' ? subject.id : null) : facts.mailboxId;
  const mailboxId = meta.mailbox_id ?? derived;
  return [
    {
      org_id: meta.org_id,
      seq: null,
      position: String(position),
      event_id: id,
      type: fact.type,
      occurred_at: meta.occurred_at,
      actor_type: meta.actor.type,
      actor_id: meta.actor.id,
      token_id: meta.actor.token_id,
      session_id: meta.actor.session_id,
      client: meta.actor.client ?? null,
      surface: meta.surface,
      request_id: meta.request_id,
      correlation_id: meta.$correlationId,
      causation_id: meta.$causationId,
      resource_type: resource?.type ?? null,
      resource_id: resource && storableText(resource.id),
      mailbox_id: mailboxId && storableText(mailboxId),
      ...namedBy(event, subject),
      action: storableText(facts.action),
      outcome: facts.outcome,
      policy: facts.policy && JSON.stringify(facts.policy),
      data: JSON.stringify(stored.data),
    },
  ];
}

/** Postgres text cannot contain NUL, and names in a refused request may. */
export const storableText = (text: string): string => text.replaceAll('\u0000', '\ufffd');

/** The subject of a stream, in the API's spelling: `mailboxNumber-7` → `mailbox_number`, `7`. */
function subjectOf(streamName: string): { readonly type: string; readonly id: string } {
  const { category, id } = splitStreamName(streamName);
  return { type: category.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), id };
}

/** Continues the numbering of each organisation. */
async function number(sql: Sql, table: string, rows: readonly AuditRow[]): Promise<void> {
  const orgIds = [...new Set(rows.map(({ org_id }) => org_id))];
  const last = await sql.query<{ org_id: string; seq: string }>(
    `select o.org_id, coalesce((select max(seq) from ${table} a where a.org_id = o.org_id), 0) as seq
     from unnest($1::text[]) as o(org_id)`,
    [orgIds],
  );
  const next = new Map(last.map(({ org_id, seq }) => [org_id, BigInt(seq)]));
  for (const row of rows) {
    const seq = (next.get(row.org_id) ?? 0n) + 1n;
    next.set(row.org_id, seq);
    row.seq = String(seq);
  }
}

/**
 * What the event alone says about the approval. Older envelopes do not name mailbox and approval: their lines are completed
 * from earlier events, so that the order of the log alone decides what a line says.
 */
interface Named {
  approval_id: string | null;
  /** For an event with an incomplete envelope: the operation it belongs to, null where it names none. */
  readonly operation: string | null;
  readonly isComplete: boolean;
}

interface AboutRow extends Named {
  readonly org_id: string;
  readonly resource_type: string | null;
  readonly resource_id: string | null;
  mailbox_id: string | null;
}

const APPROVAL_TYPES: ReadonlySet<string> = new Set(approvalEvents.map(({ type }) => type));

/** The approval an event names, and the operation by which an older one may get it. */
function namedBy(
  { fact, stored }: ProjectedEvent,
  subject: { readonly type: string; readonly id: string },
): Named {
  const { mailbox_id: mailboxId, approval_id: approvalId } = fact.meta;
  // An envelope that names a mailbox also names the approval, if there is one.
  if (mailboxId !== undefined || approvalId !== undefined)
    return { approval_id: approvalId ?? null, operation: null, isComplete: true };
  const named = stored.data['operation_id'];
  const operation = subject.type === 'operation' ? subject.id : typeof named === 'string' ? named : null;
  return { approval_id: approvalOf(fact.type, stored.data, operation), operation, isComplete: false };
}

function approvalOf(
  type: string,
  data: Readonly<Record<string, unknown>>,
  operation: string | null,
): string | null {
  if (operation !== null && APPROVAL_TYPES.has(type)) return withPrefix('chk', operation);
  const { approval_id: named, approval_ids: several } = data;
  if (typeof named === 'string') return named;
  const [only, ...others] = Array.isArray(several) ? (several as readonly unknown[]) : [];
  return typeof only === 'string' && others.length === 0 ? only : null;
}

/** Completes the lines of older events: the mailbox and approval of their operation or draft, as known from earlier events. */
async function fillAbout(sql: Sql, table: string, rows: readonly AboutRow[]): Promise<void> {
  const older = rows.filter(isToFill);
  if (older.length === 0) return;
  const known = await earlierOf(sql, table, older);
  for (const row of rows) {
    if (isToFill(row)) fill(row, known);
    note(row, known);
  }
}

const isToFill = ({ isComplete, resource_type: type }: AboutRow): boolean =>
  !isComplete && (type === 'operation' || type === 'draft');

function fill(row: AboutRow, { mailboxes, approvals }: Known): void {
  row.mailbox_id ??= mailboxes.get(keyOf(row.org_id, row.resource_id)) ?? null;
  row.approval_id ??= approvals.get(keyOf(row.org_id, row.operation)) ?? null;
}

/** A draft may have several approvals in turn: only its operation identifies one. */
function note(row: AboutRow, { mailboxes, approvals }: Known): void {
  const { org_id, resource_id, mailbox_id, approval_id } = row;
  if (mailbox_id !== null) mailboxes.set(keyOf(org_id, resource_id), mailbox_id);
  if (approval_id !== null) approvals.set(keyOf(org_id, withPrefix('opn', approval_id)), approval_id);
}

const keyOf = (orgId: string, id: string | null): string => `${orgId} ${id ?? ''}`;

interface Known {
  /** `<org> <operation or draft>` → its mailbox. */
  readonly mailboxes: Map<string, string>;
  /** `<org> <operation>` → its approval. */
  readonly approvals: Map<string, string>;
}

async function earlierOf(sql: Sql, table: string, rows: readonly AboutRow[]): Promise<Known> {
  const wanted = rows.flatMap(({ org_id, resource_id, operation }) =>
    [...new Set([resource_id, operation])].flatMap((id) => (id === null ? [] : [{ org_id, id }])),
  );
  const found = await sql.query<{
    org_id: string;
    id: string;
    mailbox_id: string | null;
    approval_id: string | null;
  }>(
    `select a.org_id, a.resource_id as id, max(a.mailbox_id) as mailbox_id, max(a.approval_id) as approval_id
     from unnest($1::text[], $2::text[]) as o(org_id, resource_id) join ${table} a using (org_id, resource_id)
     where a.resource_type in ('operation', 'draft') group by 1, 2`,
    [wanted.map(({ org_id }) => org_id), wanted.map(({ id }) => id)],
  );
  const keyed = <Value>(value: (row: (typeof found)[number]) => Value | null): Map<string, Value> =>
    new Map(
      found.flatMap((row): [string, Value][] => {
        const named = value(row);
        return named === null ? [] : [[keyOf(row.org_id, row.id), named]];
      }),
    );
  return { mailboxes: keyed((row) => row.mailbox_id), approvals: keyed((row) => row.approval_id) };
}
