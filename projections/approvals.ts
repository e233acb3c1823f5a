/** `read.approval`: every approval as lists show it, texts sealed; `read.approval_target`: its messages. */
import { takesAway } from '../commands/messages/actions.ts';
import { approvalIdOf, operationOfApproval } from '../commands/operations/operation.ts';
import { type ApprovalRow, evolveKnown, type Known, type Start } from './approval-rows.ts';
import {
  type Batch,
  type ProjectedEvent,
  type Projection,
  splitStreamName,
  type Tables,
} from './projection.ts';

/** Column → type, in the order of the table. */
const COLUMNS = {
  id: 'text',
  org_id: 'text',
  mailbox_id: 'text',
  requester_id: 'text',
  requester_type: 'text',
  reason: 'text',
  policy: 'jsonb',
  requested: 'jsonb',
  draft_id: 'text',
  /** Null where no person decides. */
  approver_role: 'text',
  exclude_owner: 'boolean',
  votes: 'jsonb',
  voters: 'text[]',
  /** Who requested it, voted or cancelled it: their reasons are sealed under their keys. */
  took_part: 'text[]',
  /** As recorded; expiry by the clock is added by `statusAt`. */
  status: 'text',
  was_granted: 'boolean',
  expires_at: 'timestamptz',
  commit_at: 'timestamptz',
  ended_at: 'timestamptz',
  cancel_reason: 'text',
  invalidated: 'jsonb',
  attempts: 'int',
  error: 'jsonb',
  results: 'jsonb',
  counts: 'jsonb',
  supersedes: 'text',
  /** Position of the newest event that may have removed a target; 0 = none did. */
  suspected: 'bigint',
  created_at: 'timestamptz',
  updated_at: 'timestamptz',
} as const;
const columns = Object.keys(COLUMNS) as (keyof typeof COLUMNS)[];
const NOT_NULL: readonly string[] = [
  ...['id', 'mailbox_id', 'requester_id', 'requester_type', 'policy', 'requested', 'exclude_owner', 'votes'],
  ...[
    'voters',
    'took_part',
    'status',
    'was_granted',
    'expires_at',
    'attempts',
    'suspected',
    'created_at',
    'updated_at',
  ],
];

/** Organisation and role in one: the planner would pick an organisation index, and walk all of it. */
export const APPROVER_LANE = `(org_id || ' ' || approver_role)`;

/** Waits for a decision or a commit. Identical to the condition of the partial indexes, word for word. */
export const OPEN = `status in ('awaiting_approval', 'pending_commit')`;

export const approvals: Projection = {
  name: 'approvals',
  version: 7,
  tables: ['approval', 'approval_start', 'approval_target'],
  create: (tableOf) => [
    `create table ${tableOf('approval')} (${columns
      .map((name) => `${name} ${COLUMNS[name]}${NOT_NULL.includes(name) ? ' not null' : ''}`)
      .join(', ')}, primary key (id))`,
    // Operations whose first append was split by the end of a batch: whether they wait is not known yet.
    `create table ${tableOf('approval_start')} (id text primary key, start jsonb not null)`,
    // The targets of approvals that have not ended.
    `create table ${tableOf('approval_target')} (message_id text, approval_id text, primary key (message_id, approval_id))`,
    // Also for `apply`, which deletes the targets of ended approvals.
    `create index on ${tableOf('approval_target')} (approval_id)`,
  ],
  indexes: (tableOf) => {
    const table = tableOf('approval');
    const newestOf = ['requester_id', 'mailbox_id', APPROVER_LANE];
    return [
      ...newestOf.flatMap((of) => [
        `create index on ${table} (${of}, created_at desc, id desc)`,
        `create index on ${table} (${of}, created_at desc, id desc) where ended_at is null`,
      ]),
      `create index on ${table} (expires_at) where ${OPEN}`,
      `create index on ${table} (org_id, created_at) where status = 'awaiting_approval' and approver_role is not null`,
      `create index on ${table} (expires_at) where status = 'expired' and not was_granted`,
      `create index on ${table} (commit_at) where commit_at is not null`,
      `create index on ${table} (supersedes) where supersedes is not null`,
      `create index on ${table} (suspected, id) where ${OPEN} and suspected > 0`,
      `create index on ${table} using gin (voters) where ${OPEN}`,
      `create index on ${table} using gin (took_part)`,
    ];
  },
  apply: async (batch) => {
    const ofOperations = batch.events.filter(({ streamName }) => streamName.startsWith('operation-'));
    if (ofOperations.length > 0) await foldInto(batch, ofOperations);
    await suspectLost(batch);
  },
};

/** The first append: submitted, decided, and then it runs or waits. */
const LAST_OF_START = 1n;

async function foldInto(batch: Batch, events: readonly ProjectedEvent[]): Promise<void> {
  const byOperation = Map.groupBy(events, ({ streamName }) => splitStreamName(streamName).id);
  const known = await knownBefore(batch, byOperation);
  const after = [...byOperation].flatMap(([id, some]) => {
    const before = known.get(id) ?? (some[0]?.revision === 0n ? NOTHING : null);
    if (before === null) return [];
    const now = some.reduce((each, { fact }) => evolveKnown(id, each, fact), before);
    return [{ id, ...now, isNew: before.row === null, last: some.at(-1)?.revision ?? 0n }];
  });
  await keepStarts(
    batch,
    byOperation,
    after.flatMap(({ id, start, row, last }) =>
      start !== null && row === null && last <= LAST_OF_START ? [[id, start] as const] : [],
    ),
  );
  const rows = after.flatMap(({ row }) => row ?? []);
  if (rows.length === 0) return;
  await upsert(batch, rows);
  await keepTargets(
    batch,
    after.flatMap(({ start, row, isNew }) => (isNew && row !== null && start !== null ? [start] : [])),
  );
  await forgetTargets(
    batch,
    rows.flatMap(({ id, ended_at }) => (ended_at === null ? [] : [id])),
  );
}

const NOTHING: Known = { start: null, row: null };

/** What is known of operations that began before this batch: those that wait, and those split by a batch. */
async function knownBefore(
  { sql, tableOf }: Batch,
  byOperation: ReadonlyMap<string, readonly ProjectedEvent[]>,
): Promise<ReadonlyMap<string, Known>> {
  const older = [...byOperation].flatMap(([id, some]) => (some[0]?.revision === 0n ? [] : [id]));
  if (older.length === 0) return new Map();
  const rows = await sql.query<ApprovalRow & Readonly<Record<string, unknown>>>(
    `select * from ${tableOf('approval')} where id = any($1::text[])`,
    [older.map(approvalIdOf)],
  );
  const starts = await sql.query<{ id: string; start: Start }>(
    `select id, start from ${tableOf('approval_start')} where id = any($1::text[])`,
    [older],
  );
  return new Map<string, Known>([
    ...starts.map(({ id, start }) => [id, { start, row: null }] as const),
    ...rows.map((row) => [operationOfApproval(row.id), { start: null, row }] as const),
  ]);
}

async function keepStarts(
  { sql, tableOf }: Batch,
  byOperation: ReadonlyMap<string, readonly ProjectedEvent[]>,
  begun: readonly (readonly [string, Start])[],
): Promise<void> {
  const goneOn = [...byOperation].flatMap(([id, some]) => {
    const first = some[0]?.revision ?? 0n;
    return first > 0n && first <= LAST_OF_START + 1n ? [id] : [];
  });
  const table = tableOf('approval_start');
  if (goneOn.length > 0) await sql.query(`delete from ${table} where id = any($1::text[])`, [goneOn]);
  if (begun.length === 0) return;
  await sql.query(`insert into ${table} (id, start) select * from unnest($1::text[], $2::jsonb[])`, [
    begun.map(([id]) => id),
    begun.map(([, start]) => JSON.stringify(start)),
  ]);
}

async function upsert({ sql, tableOf }: Batch, rows: readonly ApprovalRow[]): Promise<void> {
  const changed = columns
    .filter((name) => name !== 'id' && name !== 'suspected')
    .map((name) => `${name} = excluded.${name}`);
  const names = columns.join(', ');
  const fields = columns.map((name) => `${name} ${COLUMNS[name]}`);
  await sql.query(
    `insert into ${tableOf('approval')} (${names})
     select ${names} from jsonb_to_recordset($1::jsonb) as r(${fields.join(', ')})
     on conflict (id) do update set ${changed.join(', ')}`,
    [JSON.stringify(rows.map((row) => ({ suspected: 0, ...row })))],
  );
}

/** Stores the targets of new approvals. */
async function keepTargets({ sql, tableOf }: Tables, asked: readonly Start[]): Promise<void> {
  const targets = asked.flatMap(({ id, targets }) => targets.map((messageId) => [messageId, id] as const));
  if (targets.length === 0) return;
  await sql.query(
    `insert into ${tableOf('approval_target')} (message_id, approval_id)
     select distinct * from unnest($1::text[], $2::text[]) on conflict do nothing`,
    [targets.map(([messageId]) => messageId), targets.map(([, approvalId]) => approvalId)],
  );
}

async function forgetTargets({ sql, tableOf }: Tables, approvalIds: readonly string[]): Promise<void> {
  if (approvalIds.length === 0) return;
  await sql.query(`delete from ${tableOf('approval_target')} where approval_id = any($1::text[])`, [
    approvalIds,
  ]);
}

/** Marks the open approvals whose messages the events of the batch may have removed. */
async function suspectLost({ events, sql, tableOf }: Batch): Promise<void> {
  const approval = tableOf('approval');
  const left = events.flatMap((event) => leftBy(event).map((id) => [id, String(event.position)] as const));
  if (left.length > 0) {
    await sql.query(
      `update ${approval} a set suspected = s.position from (
         select t.approval_id, max(l.position) as position from ${tableOf('approval_target')} t
         join unnest($1::text[], $2::bigint[]) as l(message_id, position) using (message_id) group by 1
       ) s where a.id = s.approval_id and a.ended_at is null`,
      [left.map(([id]) => id), left.map(([, position]) => position)],
    );
  }
  for (const { fact, position } of events) {
    if (fact.type !== 'FolderReset') continue;
    await sql.query(
      `update ${approval} set suspected = $2 where mailbox_id = $1 and ended_at is null and draft_id is null`,
      [fact.data.mailbox_id, position],
    );
  }
}

/** Ids of messages that are no longer at their place, or are marked as deleted there. */
function leftBy({ fact }: ProjectedEvent): readonly string[] {
  if (fact.type === 'MailboxChangesObserved') {
    return fact.data.changes.flatMap(({ kind, locator, previous }) =>
      kind === 'deleted' || (kind === 'moved' && previous === undefined) ? [locator] : [],
    );
  }
  if (fact.type !== 'ActionOutcomesRecorded' && fact.type !== 'ActionsReconciled') return [];
  return fact.data.results.flatMap(({ action, outcome, message_id, new_message_id }) =>
    takesAway({ type: action }) && outcome === 'done' && new_message_id !== message_id ? [message_id] : [],
  );
}
