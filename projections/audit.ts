/**
 * `read.audit`: one line per event of the log, numbered without gaps in each trail, and the Merkle tree of each trail over its
 * lines (`docs/audit-format.md`). Every event gets its line, also one that no reader knows.
 */
import { trailLine, trailOf } from '../commands/audit/audit-line.ts';
import type { Sql } from '../commands/ports/ports.ts';
import { auditFacts, type AuditResource } from './audit-facts.ts';
import { isOfSealing } from './audit-of-sealing.ts';
import type { AuditOutcome } from './audit-outcomes.ts';
import { fillAbout, type Named, namedBy } from './audit-about.ts';
import {
  byteaText,
  loadTrees,
  STORED_LEVELS,
  storeNodes,
  storeTrees,
  type TrailNode,
  type Trees,
} from './audit-tree-growth.ts';
import { type LoggedEvent, type ProjectedEvent, type Projection, splitStreamName } from './projection.ts';

/** Column → type, in the order of the table. What is not a column is in the line or the body. */
const COLUMNS = {
  trail: 'text',
  seq: 'bigint',
  position: 'bigint',
  event_id: 'uuid',
  type: 'text',
  occurred_at: 'timestamptz',
  actor_id: 'text',
  request_id: 'text',
  resource_type: 'text',
  resource_id: 'text',
  mailbox_id: 'text',
  approval_id: 'text',
  action: 'text',
  outcome: 'text',
  policy: 'json',
  of_sealing: 'boolean',
  leaf: 'bytea',
  line: 'text',
  body: 'text',
  salt: 'bytea',
} as const;
type Column = keyof typeof COLUMNS;
/** Bytes as Postgres reads them in a text: `\x` and hex. */
type AuditRow = Record<Exclude<Column, 'trail' | 'body' | 'of_sealing' | keyof Named>, string | null> & {
  readonly trail: string;
  readonly body: string;
  readonly of_sealing: boolean;
} & Named;

const NULLABLE: readonly Column[] = [
  'occurred_at', 'actor_id', 'request_id', 'resource_type', 'resource_id', 'mailbox_id', 'approval_id', 'policy', 'salt',
]; // prettier-ignore
const columns = Object.keys(COLUMNS) as Column[];

/** Lines that audit files need, also outside their range: which keys sign, which epoch began, whose texts were erased. */
export const ALWAYS_SHOWN = `type in ('AuditKeyRotated', 'AuditKeyRevoked', 'AuditEpochStarted', 'PersonalDataErased')`;
/** Lines from before salts: they do not name mailbox and approval themselves. */
export const OLDER = 'salt is null';

export const audit: Projection = {
  name: 'audit',
  version: 3,
  tables: ['audit', 'audit_tree', 'audit_node'],
  everyEvent: true,
  create: (tableOf) => {
    const table = tableOf('audit');
    const defined = columns.map(
      (name) =>
        `${name} ${COLUMNS[name]}${name === 'trail' ? ' collate "C"' : ''}${NULLABLE.includes(name) ? '' : ' not null'}`,
    );
    return [
      `create table ${table} (${defined.join(', ')}, primary key (trail, seq))`,
      `create index on ${table} (trail, resource_id, seq)`,
      // The hashes of the complete subtrees that make up the tree, largest first.
      `create table ${tableOf('audit_tree')} (trail text collate "C" primary key, size bigint not null, frontier bytea not null)`,
      `create table ${tableOf('audit_node')} (trail text collate "C", level int, idx bigint, hash bytea not null,
         primary key (trail, level, idx))`,
    ];
  },
  indexes: (tableOf) => {
    const table = tableOf('audit');
    return [
      `create index on ${table} (event_id)`,
      `create index on ${table} (trail, request_id)`,
      `create index on ${table} (trail, actor_id, seq)`,
      `create index on ${table} (trail, mailbox_id, seq) where mailbox_id is not null`,
      `create index on ${table} (trail, approval_id, seq) where approval_id is not null`,
      `create index on ${table} (trail, occurred_at)`,
      `create index on ${table} (trail, seq) where ${ALWAYS_SHOWN}`,
      `create index on ${table} (trail, seq) where ${OLDER}`,
    ];
  },
  apply: async ({ log, sql, tableOf }) => {
    const table = tableOf('audit');
    const trees = await loadTrees(sql, tableOf('audit_tree'), log);
    const nodes: TrailNode[] = [];
    const rowsFrom = async (first: number): Promise<readonly AuditRow[]> => {
      const rows = log.slice(first, first + ROWS_AT_ONCE).map((event) => rowOf(event, trees, nodes));
      await fillAbout(sql, table, rows);
      return rows;
    };
    let rows = await rowsFrom(0);
    for (let next = ROWS_AT_ONCE; rows.length > 0; next += ROWS_AT_ONCE)
      [, rows] = await Promise.all([insertAll(sql, table, rows), rowsFrom(next)]);
    await storeTrees(sql, tableOf('audit_tree'), trees);
    if (nodes.length > 0) await storeNodes(sql, tableOf('audit_node'), nodes);
  },
};

/** Canonical JSON has no line break, so these are sent as lines of one text: an array literal would escape every quote. */
const JSON_TEXTS: readonly Column[] = ['line', 'body'];

async function insert(sql: Sql, table: string, rows: readonly AuditRow[]): Promise<void> {
  const arrays = columns.map((name, index) => {
    const parameter = `$${String(index + 1)}`;
    return JSON_TEXTS.includes(name)
      ? `string_to_array(${parameter}, E'\\n')`
      : `${parameter}::${COLUMNS[name]}[]`;
  });
  await sql.query(
    `insert into ${table} (${columns.join(', ')}) select * from unnest(${arrays.join(', ')})`,
    columns.map((name) => {
      const values = rows.map((row) => row[name]);
      return JSON_TEXTS.includes(name) ? values.join('\n') : values;
    }),
  );
}

async function insertAll(sql: Sql, table: string, rows: readonly AuditRow[]): Promise<void> {
  for (const some of bySize(rows)) await insert(sql, table, some);
}

/** While Postgres inserts these, the next ones are made. */
const ROWS_AT_ONCE = 125;

/** Characters of the bodies of one statement: a parameter is one text, and texts have a limit. */
const MOST_AT_ONCE = 8_000_000;

/** The rows in parts of bounded size; a row that is larger is a part of its own. */
function bySize(rows: readonly AuditRow[]): readonly (readonly AuditRow[])[] {
  const parts: AuditRow[][] = [[]];
  let characters = 0;
  for (const row of rows) {
    characters += row.body.length;
    if (characters > MOST_AT_ONCE && parts.at(-1)?.length !== 0) {
      parts.push([]);
      characters = row.body.length;
    }
    parts.at(-1)?.push(row);
  }
  return parts;
}

/** The row of an event, its leaf added to the tree of its trail. */
function rowOf({ stored, projected }: LoggedEvent, trees: Trees, nodes: TrailNode[]): AuditRow {
  const trail = trailOf(stored);
  const tree = trees.get(trail);
  if (tree === undefined) throw new Error(`the tree of ${trail} was not loaded`);
  const { seq, line, body, salt, leaf } = trailLine(stored, tree.size + 1);
  for (const node of tree.push(leaf)) if (STORED_LEVELS.includes(node.level)) nodes.push({ trail, ...node });
  const { metadata, streamName } = stored;
  return {
    trail,
    seq: String(seq),
    position: String(stored.position),
    event_id: stored.id,
    type: storableText(stored.type),
    occurred_at: instantOf(metadata['occurred_at']),
    actor_id: storable(projected?.fact.meta.actor.id),
    request_id: storable(metadata['request_id']),
    ...((projected && derivedFrom(projected)) ?? unreadable(streamName)),
    leaf: byteaText(leaf),
    line,
    body,
    salt: salt && byteaText(salt),
  };
}

/** What the event's own rules say of it. */
type Derived = Pick<
  AuditRow,
  | 'resource_type'
  | 'resource_id'
  | 'mailbox_id'
  | 'action'
  | 'outcome'
  | 'policy'
  | 'of_sealing'
  | keyof Named
>;

/** Null when a rule fails on it: a line is never left out, whatever an event holds. */
function derivedFrom(event: ProjectedEvent): Derived | null {
  try {
    return derivedBy(event, auditFacts(event.fact));
  } catch {
    return null;
  }
}

function derivedBy(event: ProjectedEvent, facts: ReturnType<typeof auditFacts>): Derived {
  const { streamName, fact } = event;
  const subject = subjectOf(streamName);
  const resource = facts.resource === undefined ? subject : facts.resource;
  const derived =
    facts.mailboxId === undefined ? (subject.type === 'mailbox' ? subject.id : null) : facts.mailboxId;
  return {
    resource_type: storable(resource?.type),
    resource_id: storable(resource?.id),
    mailbox_id: storable(fact.meta.mailbox_id ?? derived),
    ...namedBy(event, subject),
    action: storableText(facts.action),
    outcome: facts.outcome,
    policy: facts.policy && JSON.stringify(facts.policy),
    of_sealing: isOfSealing(fact),
  };
}

/** An event of a type that this version does not know, or whose data does not fit its type. */
const UNREADABLE: { readonly action: string; readonly outcome: AuditOutcome } = {
  action: 'unreadable',
  outcome: 'pending',
};

function unreadable(streamName: string): Derived {
  const { type, id } = subjectOf(streamName);
  return {
    ...UNREADABLE,
    resource_type: storable(type),
    resource_id: storable(id),
    mailbox_id: type === 'mailbox' ? storable(id) : null,
    approval_id: null,
    operation: null,
    isComplete: true,
    policy: null,
    of_sealing: false,
  };
}

/** Index rows have a limit, and names may be another writer's. */
const MOST_CHARACTERS = 200;

/** Postgres text cannot contain NUL, and names in a refused request may. */
export const storableText = (text: string): string =>
  text.slice(0, MOST_CHARACTERS).replaceAll('\u0000', '\ufffd').toWellFormed();

const storable = (value: unknown): string | null => (typeof value === 'string' ? storableText(value) : null);

/** A time as Postgres takes it; null for anything else. */
function instantOf(value: unknown): string | null {
  if (typeof value !== 'string' || !/^(?!0000)\d{4}-\d\d-\d\dT/.test(value)) return null;
  const time = Date.parse(value);
  return Number.isNaN(time) || time < FIRST_YEAR ? null : new Date(time).toISOString();
}

/** Of year 1, in milliseconds; and no four digits are later than year 9999. */
const FIRST_YEAR = Date.parse('0001-01-01T00:00:00Z');

/** The subject of a stream, in the API's spelling: `mailboxNumber-7` → `mailbox_number`, `7`. */
function subjectOf(streamName: string): AuditResource {
  const { category, id } = splitStreamName(streamName);
  return { type: category.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), id };
}
