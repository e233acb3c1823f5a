/**
 * The mailbox and the approval of a line. Older envelopes do not name them: their lines are completed from earlier events, so
 * that the order of the log alone decides what a line says.
 */
import type { Sql } from '../commands/ports/ports.ts';
import { approvalEvents } from '../commands/operations/approval-events.ts';
import { withPrefix } from '../commands/values/ids.ts';
import type { ProjectedEvent } from './projection.ts';

/** What the event alone says about the approval. */
export interface Named {
  approval_id: string | null;
  /** For an event with an incomplete envelope: the operation it belongs to, null where it names none. */
  readonly operation: string | null;
  readonly isComplete: boolean;
}

interface AboutRow extends Named {
  readonly trail: string;
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
  row.mailbox_id ??= mailboxes.get(keyOf(row.trail, row.resource_id)) ?? null;
  row.approval_id ??= approvals.get(keyOf(row.trail, row.operation)) ?? null;
}

/** A draft may have several approvals in turn: only its operation identifies one. */
function note(row: AboutRow, { mailboxes, approvals }: Known): void {
  const { trail, resource_id, mailbox_id, approval_id } = row;
  if (mailbox_id !== null) mailboxes.set(keyOf(trail, resource_id), mailbox_id);
  if (approval_id !== null) approvals.set(keyOf(trail, withPrefix('opn', approval_id)), approval_id);
}

const keyOf = (trail: string, id: string | null): string => `${trail} ${id ?? ''}`;

interface Known {
  /** `<trail> <operation or draft>` → its mailbox. */
  readonly mailboxes: Map<string, string>;
  /** `<trail> <operation>` → its approval. */
  readonly approvals: Map<string, string>;
}

async function earlierOf(sql: Sql, table: string, rows: readonly AboutRow[]): Promise<Known> {
  const wanted = rows.flatMap(({ trail, resource_id, operation }) =>
    [...new Set([resource_id, operation])].flatMap((id) => (id === null ? [] : [{ trail, id }])),
  );
  const found = await sql.query<{
    trail: string;
    id: string;
    mailbox_id: string | null;
    approval_id: string | null;
  }>(
    `select a.trail, a.resource_id as id, max(a.mailbox_id) as mailbox_id, max(a.approval_id) as approval_id
     from unnest($1::text[], $2::text[]) as o(trail, resource_id) join ${table} a using (trail, resource_id)
     where a.resource_type in ('operation', 'draft') group by 1, 2`,
    [wanted.map(({ trail }) => trail), wanted.map(({ id }) => id)],
  );
  const keyed = <Value>(value: (row: (typeof found)[number]) => Value | null): Map<string, Value> =>
    new Map(
      found.flatMap((row): [string, Value][] => {
        const named = value(row);
        return named === null ? [] : [[keyOf(row.trail, row.id), named]];
      }),
    );
  return { mailboxes: keyed((row) => row.mailbox_id), approvals: keyed((row) => row.approval_id) };
}
