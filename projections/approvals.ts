/** `read.approval`: every approval as the stream of its operation tells it, for lists and for whoever ends or commits approvals. */
import { approvalIdOf } from '../commands/operations/operation-id.ts';
import { operation, type OperationState } from '../commands/operations/operation.ts';
import { countsOf } from '../commands/operations/operation-progress.ts';
import { type ApprovalState, commitAtOf, wasGranted } from '../commands/operations/approval-state.ts';
import { forgetTargets, keepTargets, suspectLost } from './approval-targets.ts';
import type { Batch, ProjectedEvent, Projection } from './projection.ts';
import { splitStreamName } from './projection.ts';

type OperationFact = Parameters<typeof operation.evolve>[1];

/** Column → type, in the order of the table. The state is the one of the write side, sealed texts sealed. */
const COLUMNS = {
  id: 'text',
  org_id: 'text',
  mailbox_id: 'text',
  requester_id: 'text',
  draft_id: 'text',
  /** Null where nobody is asked. */
  approver_role: 'text',
  exclude_owner: 'boolean',
  voters: 'text[]',
  granted: 'boolean',
  committing: 'boolean',
  has_unknown: 'boolean',
  ended: 'text',
  expires_at: 'timestamptz',
  commit_at: 'timestamptz',
  supersedes: 'text',
  /** Position of the newest event that may have taken a target away; 0 = none did. */
  suspected: 'bigint',
  created_at: 'timestamptz',
  updated_at: 'timestamptz',
  state: 'jsonb',
} as const;
type Row = Readonly<Record<keyof typeof COLUMNS, unknown>>;
const columns = Object.keys(COLUMNS) as (keyof typeof COLUMNS)[];

const NULLABLE: readonly string[] = [
  'org_id',
  'draft_id',
  'approver_role',
  'ended',
  'commit_at',
  'supersedes',
];

/** Organisation and role in one: an index on the organisation alone would look as good to the planner, and walk all of it. */
export const APPROVER_LANE = `(org_id || ' ' || approver_role)`;

export const approvals: Projection = {
  name: 'approvals',
  version: 4,
  tables: ['approval', 'approval_start', 'approval_target'],
  create: (tableOf) => [
    `create table ${tableOf('approval')} (${columns
      .map((name) => `${name} ${COLUMNS[name]}${NULLABLE.includes(name) ? '' : ' not null'}`)
      .join(', ')}, primary key (id))`,
    // Operations whose first append was cut in two by the end of a batch: it is not known yet whether they wait.
    `create table ${tableOf('approval_start')} (id text primary key, state jsonb not null)`,
    // The messages that approvals which have not ended are about.
    `create table ${tableOf('approval_target')} (message_id text, approval_id text, primary key (message_id, approval_id))`,
    // Also for `apply`, which forgets the targets of what ended.
    `create index on ${tableOf('approval_target')} (approval_id)`,
  ],
  indexes: (tableOf) => {
    const table = tableOf('approval');
    const newestOf = ['requester_id', 'mailbox_id', APPROVER_LANE];
    return [
      ...newestOf.flatMap((of) => [
        `create index on ${table} (${of}, created_at desc, id desc)`,
        `create index on ${table} (${of}, created_at desc, id desc) where ended is null`,
      ]),
      `create index on ${table} (expires_at) where ended is null and not committing`,
      `create index on ${table} (expires_at) where ended = 'expired' and not granted`,
      `create index on ${table} (commit_at) where commit_at is not null`,
      `create index on ${table} (supersedes) where supersedes is not null`,
      `create index on ${table} (suspected, id) where ended is null and suspected > 0`,
      `create index on ${table} using gin (voters) where ended is null`,
    ];
  },
  apply: async (batch) => {
    const ofOperations = batch.events.filter(
      ({ streamName, fact }) => streamName.startsWith('operation-') && operation.catalogue.has(fact.type),
    );
    if (ofOperations.length > 0) await foldInto(batch, ofOperations);
    await suspectLost(batch);
  },
};

/** Of the first append: submitted, decided, and then it runs or waits. */
const LAST_OF_START = 1n;

async function foldInto(batch: Batch, events: readonly ProjectedEvent[]): Promise<void> {
  const byOperation = Map.groupBy(events, ({ streamName }) => splitStreamName(streamName).id);
  const known = await statesBefore(batch, byOperation);
  const waiting: [string, OperationState][] = [];
  const begun: [string, OperationState][] = [];
  for (const [id, some] of byOperation) {
    const before = known.get(id) ?? (some[0]?.revision === 0n ? operation.initial : null);
    if (before === null) continue;
    const state = some.reduce((now, { fact }) => operation.evolve(now, fact as OperationFact), before);
    if (state.approval !== null) waiting.push([id, state]);
    else if ((some.at(-1)?.revision ?? 0n) <= LAST_OF_START) begun.push([id, state]);
  }
  await keepStarts(batch, byOperation, begun);
  if (waiting.length === 0) return;
  await upsert(
    batch,
    waiting.map(([id, state]) => rowOf(id, state)),
  );
  const isAsked = ([id]: (typeof waiting)[0]): boolean => known.get(id)?.approval == null;
  await keepTargets(batch, waiting.filter(isAsked));
  await forgetTargets(
    batch,
    waiting.flatMap(([id, { approval }]) => (approval?.phase !== 'ended' ? [] : [approvalIdOf(id)])),
  );
}

/** What is known of operations that began before this batch: of those that wait, and of those cut in two. */
async function statesBefore(
  { sql, tableOf }: Batch,
  byOperation: ReadonlyMap<string, readonly ProjectedEvent[]>,
): Promise<ReadonlyMap<string, OperationState>> {
  const older = [...byOperation].flatMap(([id, some]) => (some[0]?.revision === 0n ? [] : [id]));
  if (older.length === 0) return new Map();
  const rows = await sql.query<{ id: string; state: OperationState }>(
    `select 'opn' || substr(id, 4) as id, state from ${tableOf('approval')} where id = any($1::text[])
     union all select id, state from ${tableOf('approval_start')} where id = any($2::text[])`,
    [older.map(approvalIdOf), older],
  );
  return new Map(rows.map(({ id, state }) => [id, state]));
}

async function keepStarts(
  { sql, tableOf }: Batch,
  byOperation: ReadonlyMap<string, readonly ProjectedEvent[]>,
  begun: readonly (readonly [string, OperationState])[],
): Promise<void> {
  const goneOn = [...byOperation].flatMap(([id, some]) => {
    const first = some[0]?.revision ?? 0n;
    return first > 0n && first <= LAST_OF_START + 1n ? [id] : [];
  });
  const table = tableOf('approval_start');
  if (goneOn.length > 0) await sql.query(`delete from ${table} where id = any($1::text[])`, [goneOn]);
  if (begun.length === 0) return;
  await sql.query(`insert into ${table} (id, state) select * from unnest($1::text[], $2::jsonb[])`, [
    begun.map(([id]) => id),
    begun.map(([, state]) => JSON.stringify(state)),
  ]);
}

async function upsert({ sql, tableOf }: Batch, rows: readonly Row[]): Promise<void> {
  const changed = columns
    .filter((name) => name !== 'id' && name !== 'suspected')
    .map((name) => `${name} = excluded.${name}`);
  const names = columns.join(', ');
  const fields = columns.map((name) => `${name} ${COLUMNS[name]}`);
  await sql.query(
    `insert into ${tableOf('approval')} (${names})
     select ${names} from jsonb_to_recordset($1::jsonb) as r(${fields.join(', ')})
     on conflict (id) do update set ${changed.join(', ')}`,
    [JSON.stringify(rows)],
  );
}

function rowOf(id: string, state: OperationState): Row {
  const { submitted, mailboxId, approval } = state;
  if (submitted === null || approval === null) throw new Error(`operation ${id} has no approval`);
  return {
    id: approvalIdOf(id),
    org_id: submitted.orgId,
    mailbox_id: mailboxId,
    requester_id: submitted.by.id,
    ...asked(approval),
    granted: wasGranted(approval),
    committing: approval.phase === 'committing',
    has_unknown: (countsOf(state)?.unknown ?? 0) > 0,
    ended: approval.phase === 'ended' ? approval.end.status : null,
    expires_at: approval.expiresAt,
    commit_at: commitAtOf(approval),
    suspected: 0,
    created_at: approval.requestedAt,
    updated_at: state.updatedAt,
    // What it was resolved to stands in the manifest.
    state: { ...state, targets: [], rfcMessageIds: null, steps: [] },
  };
}

const asked = ({ requested, terms, votes }: ApprovalState) => ({
  draft_id: requested.draft_id,
  supersedes: requested.supersedes,
  approver_role: terms.quorum > 0 ? terms.approver_role : null,
  exclude_owner: terms.exclude_owner,
  voters: votes.map(({ by }) => by.id),
});
