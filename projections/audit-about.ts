/**
 * Which mailbox and which approval an audit line is about. The envelope says it; events of before the envelope did are
 * completed from those that went before them in the log, so that the order of the log alone decides what a line says.
 */
import { withPrefix } from '../commands/values/ids.ts';
import type { Sql } from '../commands/ports/ports.ts';
import { approvalEvents } from '../commands/operations/approval-events.ts';
import type { ProjectedEvent } from './projection.ts';

/** What of a line its event alone can tell. */
export interface Named {
  approval_id: string | null;
  /** Of an event that its envelope does not complete: the operation it belongs to, null where it tells none. */
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
export function namedBy(
  { fact, stored }: ProjectedEvent,
  subject: { readonly type: string; readonly id: string },
): Named {
  const { mailbox_id: mailboxId, approval_id: approvalId } = fact.meta;
  // An envelope that names a mailbox names the approval too, where there is one.
  if (mailboxId !== undefined || approvalId !== undefined)
    return { approval_id: approvalId ?? null, operation: null, isComplete: true };
  const told = stored.data['operation_id'];
  const operation = subject.type === 'operation' ? subject.id : typeof told === 'string' ? told : null;
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

/** Completes the lines of older events: what their operation or draft was about, as far as earlier events told. */
export async function fillAbout(sql: Sql, table: string, rows: readonly AboutRow[]): Promise<void> {
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

/** A draft may have one approval after another: only its operation says which. */
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
        const told = value(row);
        return told === null ? [] : [[keyOf(row.org_id, row.id), told]];
      }),
    );
  return { mailboxes: keyed((row) => row.mailbox_id), approvals: keyed((row) => row.approval_id) };
}
