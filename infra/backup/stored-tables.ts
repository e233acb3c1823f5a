/** The tables that cannot be rebuilt, as the database itself lists them: what a later migration adds is not forgotten. */
import type { Client } from 'pg';

export interface StoredTable {
  /** With its schema. */
  readonly name: string;
  readonly columns: readonly string[];
}

const TABLES = `
  select n.nspname || '.' || c.relname as name, array_agg(a.attname::text order by a.attnum) as columns
  from pg_class c
  join pg_namespace n on n.oid = c.relnamespace
  join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
  where n.nspname in ('vault', 'log') and c.relkind = 'r'
  group by 1 order by 1`;

/** Every table of `vault` and `log` with its columns, in order of their names. */
export async function storedTables(client: Client): Promise<readonly StoredTable[]> {
  const { rows } = await client.query<{ name: string; columns: string[] }>(TABLES);
  return rows;
}

/** `schema.table (columns)` as COPY takes it. */
export const copyTarget = (table: string, columns: readonly string[]): string =>
  `${table.split('.').map(quoted).join('.')} (${columns.map(quoted).join(', ')})`;

const quoted = (name: string): string => `"${name}"`;

/** How values are written and read as text, whatever the server or the role has set; and a COPY may take its time. */
export const COPY_SETTINGS =
  "set bytea_output = 'hex'; set datestyle = 'ISO'; set timezone = 'UTC'; set statement_timeout = 0";
