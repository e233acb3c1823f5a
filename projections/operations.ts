/** `read.operation`: where each operation stands, for the sweeper and for lists. */
import type { Sql } from '../commands/kernel/ports.ts';
import type { Unsettled } from '../commands/operations/sweep-operations.ts';
import { type ProjectedEvent, type Projection, splitStreamName } from './projection.ts';

export const operations: Projection = {
  name: 'operations',
  version: 1,
  tables: ['operation'],
  create: (tableOf) => [
    `create table ${tableOf('operation')} (
       id text primary key, org_id text, mailbox_id text not null, principal_id text not null, capability text not null,
       completed boolean not null default false, unknown_items int not null default 0,
       created_at timestamptz not null, updated_at timestamptz not null)`,
  ],
  indexes: (tableOf) => [
    `create index on ${tableOf('operation')} (updated_at) where not completed or unknown_items > 0`,
  ],
  apply: async ({ events, sql, tableOf }) => {
    const table = tableOf('operation');
    const submitted = events.filter(({ fact }) => fact.type === 'OperationSubmitted');
    if (submitted.length > 0) await insertSubmitted(sql, table, submitted);
    const changes = collapse(events);
    if (changes.length === 0) return;
    await sql.query(
      `update ${table} as o set completed = o.completed or c.completed, updated_at = c.at,
         unknown_items = o.unknown_items + c.unknown
       from unnest($1::text[], $2::boolean[], $3::int[], $4::timestamptz[]) as c(id, completed, unknown, at)
       where o.id = c.id`,
      [
        changes.map(({ id }) => id),
        changes.map(({ completed }) => completed),
        changes.map(({ unknown }) => unknown),
        changes.map(({ at }) => at),
      ],
    );
  },
};

async function insertSubmitted(sql: Sql, table: string, events: readonly ProjectedEvent[]): Promise<void> {
  const rows = events.flatMap(({ streamName, fact }) =>
    fact.type === 'OperationSubmitted' ? [{ id: splitStreamName(streamName).id, ...fact }] : [],
  );
  await sql.query(
    `insert into ${table} (id, org_id, mailbox_id, principal_id, capability, created_at, updated_at)
     select id, org, mailbox, principal, capability, at, at
     from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::timestamptz[])
       as r(id, org, mailbox, principal, capability, at)`,
    [
      rows.map(({ id }) => id),
      rows.map(({ meta }) => meta.org_id),
      rows.map(({ data }) => data.mailbox_id),
      rows.map(({ meta }) => meta.actor.id),
      rows.map(({ data }) => data.capability),
      rows.map(({ meta }) => meta.occurred_at),
    ],
  );
}

interface Change {
  readonly id: string;
  readonly completed: boolean;
  /** Added to the number of items whose outcome is not known. */
  readonly unknown: number;
  readonly at: string;
}

/** One change per operation, because an update must not meet a row twice. */
function collapse(events: readonly ProjectedEvent[]): readonly Change[] {
  const changes = new Map<string, Change>();
  for (const { streamName, fact } of events) {
    const unknown = unknownDelta(fact);
    if (unknown === null) continue;
    const { id } = splitStreamName(streamName);
    const before = changes.get(id);
    changes.set(id, {
      id,
      completed: (before?.completed ?? false) || fact.type === 'OperationCompleted',
      unknown: (before?.unknown ?? 0) + unknown,
      at: fact.meta.occurred_at,
    });
  }
  return [...changes.values()];
}

function unknownDelta(fact: ProjectedEvent['fact']): number | null {
  if (fact.type === 'OperationCompleted') return fact.data.summary.unknown;
  if (fact.type !== 'ActionsReconciled') return null;
  return -fact.data.results.filter(({ outcome }) => outcome !== 'unknown').length;
}

/** Operations without an outcome, or with items of unknown outcome; those in `except` are left out. Oldest first. */
export async function listUnsettledOperations(
  sql: Sql,
  limit: number,
  except: readonly string[],
): Promise<readonly Unsettled[]> {
  const rows = await sql.query<{ id: string; org_id: string | null }>(
    `select id, org_id from read.operation
     where (not completed or unknown_items > 0) and id <> all($2::text[]) order by updated_at limit $1`,
    [limit, except],
  );
  return rows.map(({ id, org_id }) => ({ operationId: id, orgId: org_id }));
}
