/** `read.directory`: one row per entity, from which every process loads its in-memory directory. */
import type { Sql } from '../commands/ports/ports.ts';
import type { Position } from '../commands/values/position.ts';
import { changesOf, denialBy, keysOf, keysOfDenial } from './directory-changes.ts';
import {
  type DirectoryChange,
  DIRECTORY_STREAMS,
  type Entity,
  type EntityKind,
  type EntityKey,
  type EntityTypes,
  type LookUp,
} from './directory-entities.ts';
import { checkpointKey, type Projection, tableName } from './projection.ts';

const textOf = ({ kind, id }: EntityKey): string => `${kind} ${id}`;

/** Entities by kind and id, with the changes since they were read. */
class Entities {
  readonly #known = new Map<string, EntityTypes[keyof EntityTypes]>();
  readonly #written = new Map<string, EntityKey>();
  readonly #removed = new Map<string, EntityKey>();

  readonly lookUp: LookUp = (kind, id) => this.#known.get(textOf({ kind, id })) as never;

  load(key: EntityKey, value: EntityTypes[keyof EntityTypes]): void {
    this.#known.set(textOf(key), value);
  }

  change({ put, remove }: DirectoryChange): void {
    for (const entity of put) this.#put(entity);
    for (const key of remove) this.#remove(key);
  }

  #put({ kind, value }: Entity): void {
    const key = { kind, id: value.id };
    this.#known.set(textOf(key), value);
    this.#written.set(textOf(key), key);
    this.#removed.delete(textOf(key));
  }

  #remove(key: EntityKey): void {
    this.#known.delete(textOf(key));
    this.#written.delete(textOf(key));
    this.#removed.set(textOf(key), key);
  }

  get written(): readonly (EntityKey & { readonly body: string })[] {
    return [...this.#written.values()].map((key) => ({
      ...key,
      body: JSON.stringify(this.#known.get(textOf(key))),
    }));
  }

  get removed(): readonly EntityKey[] {
    return [...this.#removed.values()];
  }
}

export const directory: Projection = {
  name: 'directory',
  version: 9,
  tables: ['directory'],
  create: (tableOf) => [
    `create table ${tableOf('directory')} (kind text not null, id text not null, body json not null, primary key (kind, id))`,
  ],
  apply: async ({ events, sql, open, tableOf }) => {
    const relevant = events.filter(isOfDirectory);
    if (relevant.length === 0) return;
    const table = tableOf('directory');
    const entities = new Entities();
    const keys = relevant.flatMap(({ streamName, fact }) => keysOf(streamName, fact));
    for (const row of await readRows(sql, table, keys)) entities.load(row, row.body);
    for (const event of relevant) entities.change(await changesOf(event, entities.lookUp, open));
    await writeRows(sql, table, entities);
  },
  parked: async (event, { sql, tableOf }) => {
    if (!isOfDirectory(event)) return;
    const table = tableOf('directory');
    const entities = new Entities();
    for (const row of await readRows(sql, table, keysOfDenial(event))) entities.load(row, row.body);
    entities.change(denialBy(event, entities.lookUp));
    await writeRows(sql, table, entities);
  },
  // The rebuilt rows may restore what an event denied in the processes' directories: each loads them again.
  rebuilt: async (sql) => {
    await sql.query('update work.authz_epoch set directory_build = directory_build + 1');
  },
};

const isOfDirectory = ({ streamName }: { readonly streamName: string }): boolean =>
  DIRECTORY_STREAMS.some((prefix) => streamName.startsWith(prefix));

interface EntityRow extends Record<string, unknown>, EntityKey {
  readonly body: EntityTypes[keyof EntityTypes];
}

const columns = (keys: readonly EntityKey[]): [string[], string[]] => [
  keys.map(({ kind }) => kind),
  keys.map(({ id }) => id),
];

const readRows = (sql: Sql, table: string, keys: readonly EntityKey[]): Promise<EntityRow[]> =>
  sql.query<EntityRow>(
    `select kind, id, body from ${table} where (kind, id) in (select * from unnest($1::text[], $2::text[]))`,
    columns(keys),
  );

async function writeRows(sql: Sql, table: string, { written, removed }: Entities): Promise<void> {
  if (written.length > 0) {
    await sql.query(
      `insert into ${table} (kind, id, body) select * from unnest($1::text[], $2::text[], $3::json[])
       on conflict (kind, id) do update set body = excluded.body`,
      [...columns(written), written.map(({ body }) => body)],
    );
  }
  await removeRows(sql, table, removed);
}

async function removeRows(sql: Sql, table: string, keys: readonly EntityKey[]): Promise<void> {
  if (keys.length === 0) return;
  await sql.query(
    `delete from ${table} where (kind, id) in (select * from unnest($1::text[], $2::text[]))`,
    columns(keys),
  );
}

interface SnapshotRow extends Record<string, unknown> {
  readonly position: string;
  /** Null when the table is empty. */
  readonly kind: EntityKind | null;
  readonly body: unknown;
}

export interface DirectorySnapshot {
  /** The last event it contains, or -1n. */
  readonly position: Position;
  readonly entities: readonly Entity[];
}

/** The whole read model with its checkpoint; null when it was never built in this version. */
export async function readDirectory(sql: Sql): Promise<DirectorySnapshot | null> {
  const table = tableName('directory', directory);
  const [there] = await sql.query<{ there: boolean }>('select to_regclass($1) is not null as there', [table]);
  if (there?.there !== true) return null;
  // One statement sees one moment: rows and checkpoint belong together.
  const rows = await sql.query<SnapshotRow>(
    `select c.position, d.kind, d.id, d.body from read.checkpoint c left join ${table} d on true
     where c.projection = $1`,
    [checkpointKey(directory)],
  );
  const [first] = rows;
  if (!first) return null;
  const entities = rows.flatMap(({ kind, body }) => (kind === null ? [] : [{ kind, value: body } as Entity]));
  return { position: BigInt(first.position), entities };
}
