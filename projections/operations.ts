/** `read.operation`: the progress of each operation, for the sweeper and for lists. */
import type { Sql } from '../commands/ports/ports.ts';
import { approvalEvents } from '../commands/operations/approval-events.ts';
import type { Summary } from '../commands/operations/operation-events.ts';
import type { Unsettled } from '../commands/messages/reconcile-operation.ts';
import { type ProjectedEvent, type Projection, splitStreamName } from './projection.ts';

/** As `progressAt`, except for an approval that has expired without an event in its stream. */
const STATE = `case when not completed then coalesce(check_phase, 'running') when unknown_items > 0 then 'unknown'
  when done_items = 0 and failed_items > 0 then 'failed' else 'completed' end`;

/** Needs the sweeper: an approval that waits for a person, or ended without running, does not. */
export const UNSETTLED = `(not completed or unknown_items > 0) and coalesce(check_phase, 'running') = 'running'`;

const ITEMS = ['done_items', 'failed_items', 'unknown_items'];

export const operations: Projection = {
  name: 'operations',
  version: 3,
  tables: ['operation'],
  create: (tableOf) => [
    `create table ${tableOf('operation')} (
       id text primary key, org_id text, mailbox_id text not null, principal_id text not null, actor_type text not null,
       capability text not null, draft_id text, check_phase text, approver_role text, completed boolean not null default false,
       done_items int not null default 0, failed_items int not null default 0, unknown_items int not null default 0,
       state text not null generated always as (${STATE}) stored,
       created_at timestamptz not null, updated_at timestamptz not null)`,
  ],
  indexes: (tableOf) => [
    `create index on ${tableOf('operation')} (updated_at) where ${UNSETTLED}`,
    `create index on ${tableOf('operation')} (org_id, created_at desc, id desc)`,
  ],
  apply: async ({ events, sql, tableOf }) => {
    const table = tableOf('operation');
    const submitted = events.filter(({ fact }) => fact.type === 'OperationSubmitted');
    if (submitted.length > 0) await insertSubmitted(sql, table, submitted);
    const changes = collapse(events);
    if (changes.length === 0) return;
    await sql.query(
      `update ${table} as o set completed = o.completed and not c.anew or c.completed, updated_at = c.at,
         draft_id = coalesce(c.draft, o.draft_id), check_phase = coalesce(c.check_phase, o.check_phase),
         approver_role = coalesce(c.approver_role, o.approver_role),
         ${ITEMS.map((name) => `${name} = case when c.anew then 0 else o.${name} end + c.${name}`).join(', ')}
       from unnest($1::text[], $2::boolean[], $3::int[], $4::int[], $5::int[], $6::text[], $7::text[], $8::text[],
           $9::timestamptz[], $10::boolean[])
         as c(id, completed, done_items, failed_items, unknown_items, draft, check_phase, approver_role, at, anew)
       where o.id = c.id`,
      [
        changes.map(({ id }) => id),
        changes.map(({ completed }) => completed),
        changes.map(({ items }) => items.done),
        changes.map(({ items }) => items.failed),
        changes.map(({ items }) => items.unknown),
        changes.map(({ draftId }) => draftId),
        changes.map(({ approvalPhase }) => approvalPhase),
        changes.map(({ approverRole }) => approverRole),
        changes.map(({ at }) => at),
        changes.map(({ anew }) => anew),
      ],
    );
  },
};

async function insertSubmitted(sql: Sql, table: string, events: readonly ProjectedEvent[]): Promise<void> {
  const rows = events.flatMap(({ streamName, fact }) =>
    fact.type === 'OperationSubmitted' ? [{ id: splitStreamName(streamName).id, ...fact }] : [],
  );
  await sql.query(
    `insert into ${table} (id, org_id, mailbox_id, principal_id, actor_type, capability, created_at, updated_at)
     select id, org, mailbox, principal, actor, capability, at, at
     from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::timestamptz[])
       as r(id, org, mailbox, principal, actor, capability, at)`,
    [
      rows.map(({ id }) => id),
      rows.map(({ meta }) => meta.org_id),
      rows.map(({ data }) => data.mailbox_id),
      rows.map(({ meta }) => meta.actor.id),
      rows.map(({ meta }) => meta.actor.type),
      rows.map(({ data }) => data.capability),
      rows.map(({ meta }) => meta.occurred_at),
    ],
  );
}

interface Change {
  readonly id: string;
  /** Earlier items no longer count: the attempt had no effect. */
  readonly anew: boolean;
  readonly completed: boolean;
  /** Added to the numbers of items by outcome. */
  readonly items: Summary;
  readonly draftId: string | null;
  /** Null = unchanged. */
  readonly approvalPhase: 'waiting' | 'running' | 'not_run' | null;
  readonly approverRole: string | null;
  readonly at: string;
}

const CHANGING: ReadonlySet<string> = new Set<ProjectedEvent['fact']['type']>([
  'SendIntended',
  'OperationCompleted',
  'ActionsReconciled',
  'SendReconciled',
  ...approvalEvents.map(({ type }) => type),
]);

/** One change per operation, because an update must not touch a row twice. */
function collapse(events: readonly ProjectedEvent[]): readonly Change[] {
  const changes = new Map<string, Change>();
  for (const { streamName, fact } of events) {
    if (!CHANGING.has(fact.type)) continue;
    const { id } = splitStreamName(streamName);
    const before = changes.get(id);
    const change = changeBy(id, fact);
    changes.set(id, before ? both(before, change) : change);
  }
  return [...changes.values()];
}

const changeBy = (id: string, fact: ProjectedEvent['fact']): Change => ({
  id,
  anew: fact.type === 'CommitAttemptFailed',
  completed: fact.type === 'OperationCompleted',
  items: itemsOf(fact),
  draftId: draftOf(fact),
  approvalPhase: phaseOfApproval(fact),
  approverRole: approverRoleOf(fact),
  at: fact.meta.occurred_at,
});

const both = (before: Change, then: Change): Change => ({
  id: then.id,
  anew: before.anew || then.anew,
  completed: (before.completed && !then.anew) || then.completed,
  items: then.anew ? then.items : sum(before.items, then.items),
  draftId: then.draftId ?? before.draftId,
  approvalPhase: then.approvalPhase ?? before.approvalPhase,
  approverRole: then.approverRole ?? before.approverRole,
  at: then.at,
});

const draftOf = ({ type, data }: ProjectedEvent['fact']): string | null =>
  type === 'SendIntended' || type === 'ApprovalRequested' ? data.draft_id : null;

/** Null where no person decides. */
const approverRoleOf = ({ type, data }: ProjectedEvent['fact']): string | null =>
  type === 'ApprovalRequested' && data.terms.quorum > 0 ? data.terms.approver_role : null;

function phaseOfApproval({ type }: ProjectedEvent['fact']): Change['approvalPhase'] {
  switch (type) {
    case 'ApprovalRequested':
    case 'CommitAttemptFailed':
      return 'waiting';
    case 'CommitStarted':
      return 'running';
    case 'ApprovalRejected':
    case 'ApprovalCancelled':
    case 'ApprovalExpired':
    case 'ApprovalSuperseded':
    case 'ApprovalInvalidated':
      return 'not_run';
    default:
      return null;
  }
}

const NONE: Summary = { done: 0, failed: 0, unknown: 0 };
const sum = (a: Summary, b: Summary): Summary => ({
  done: a.done + b.done,
  failed: a.failed + b.failed,
  unknown: a.unknown + b.unknown,
});

function itemsOf(fact: ProjectedEvent['fact']): Summary {
  switch (fact.type) {
    case 'OperationCompleted':
      return fact.data.summary;
    case 'ActionsReconciled':
      return fact.data.results.map(({ outcome }) => settled(outcome)).reduce(sum, NONE);
    case 'SendReconciled':
      return settled(fact.data.outcome);
    default:
      return NONE;
  }
}

/** The outcome of an item that was unknown. */
function settled(outcome: 'done' | 'failed' | 'unknown' | 'skipped'): Summary {
  if (outcome === 'unknown') return NONE;
  return { ...NONE, ...(outcome === 'skipped' ? {} : { [outcome]: 1 }), unknown: -1 };
}

interface UnsettledOperation extends Unsettled {
  readonly mailboxId: string;
}

/** A query for open operations. */
interface UnsettledQuery {
  readonly limit: number;
  /** Operations to leave out. */
  readonly except: readonly string[];
  /** Mailboxes whose operations are left out. */
  readonly exceptMailboxes: readonly string[];
}

/** Holds while `listUnsettledOperations` finds something. */
export const UNSETTLED_PROBE = `exists (select from read.operation where ${UNSETTLED} and draft_id is null)`;

/**
 * Operations on messages without an outcome, or with items of unknown outcome. Oldest first. Sends are
 * settled from their drafts.
 */
export async function listUnsettledOperations(
  sql: Sql,
  { limit, except, exceptMailboxes }: UnsettledQuery,
): Promise<readonly UnsettledOperation[]> {
  const rows = await sql.query<{ id: string; org_id: string | null; mailbox_id: string }>(
    `select id, org_id, mailbox_id from read.operation
     where ${UNSETTLED} and draft_id is null
       and id <> all($2::text[]) and mailbox_id <> all($3::text[])
     order by updated_at limit $1`,
    [limit, except, exceptMailboxes],
  );
  return rows.map(({ id, org_id, mailbox_id }) => ({
    operationId: id,
    orgId: org_id,
    mailboxId: mailbox_id,
  }));
}
