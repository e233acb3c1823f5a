import type { Client } from 'pg';

/** Counts the rows of a COPY in text format as they pass: each ends in a newline, and inside a value it is written `\n`. */

export interface TableProgress {
  readonly table: string;
  readonly rows: number;
  /** Before compression. */
  readonly bytes: number;
  readonly isDone: boolean;
}

export type Report = (progress: TableProgress) => void;

const NEWLINE = 0x0a;

export class RowTally {
  rows = 0;
  bytes = 0;
  readonly #table: string;
  readonly #report: Report;

  constructor(table: string, report: Report) {
    this.#table = table;
    this.#report = report;
  }

  /** A stage of a pipeline: passes every chunk on, reports after each and once more at the end. */
  async *pass(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of chunks) {
      this.#add(chunk);
      this.#reportNow(false);
      yield chunk;
    }
    this.#reportNow(true);
  }

  #add(chunk: Buffer): void {
    this.bytes += chunk.length;
    for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, at + 1)) this.rows += 1;
  }

  #reportNow(isDone: boolean): void {
    this.#report({ table: this.#table, rows: this.rows, bytes: this.bytes, isDone });
  }
}

/** Progress for a terminal, one line at a time: also readable in the log of a timer that runs the command. */
const EVERY_MS = 2_000;
const MB = 1_000_000;

/** Reports the progress of a table every two seconds, and once when it is done. `now` is in milliseconds. */
export function progressLines(say: (line: string) => void, now: () => number): Report {
  let reportedAt = now();
  return ({ table, rows, bytes, isDone }) => {
    if (!isDone && now() - reportedAt < EVERY_MS) return;
    reportedAt = now();
    const count = `${rows.toLocaleString('en')} rows, ${(bytes / MB).toFixed(1)} MB`;
    say(`${table}: ${count}${isDone ? '' : ' …'}`);
  };
}

/** The tables that cannot be rebuilt, as listed by the database itself, so that tables of later migrations are included. */
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

/** Fixes the text format of values, whatever the server or the role has set, and lets a COPY take its time. */
export const COPY_SETTINGS =
  "set bytea_output = 'hex'; set datestyle = 'ISO'; set timezone = 'UTC'; set statement_timeout = 0";
