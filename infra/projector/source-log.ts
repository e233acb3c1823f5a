/** Records which event log the schema `read` was built from. */
import type { Sql } from '../../commands/ports/ports.ts';
import { DDL_LOCK } from './projection-tables.ts';

/** The read models were built from another event log; their checkpoints mean nothing in this one. */
export class ReadModelsOfAnotherLog extends Error {
  constructor(source: string, logId: string) {
    super(
      `The read models were made from the event log ${source}, and the event store holds the log ${logId}: restore the event ` +
        'store and the database of the same time, or run "npm run rebuild -- all".',
    );
    this.name = 'ReadModelsOfAnotherLog';
  }
}

/** Records the log if none is recorded yet. Throws `ReadModelsOfAnotherLog`. */
export async function claimReadModels(sql: Sql, logId: string): Promise<void> {
  const source = await sql.transaction(async (inside) => {
    await inside.query('select pg_advisory_xact_lock($1)', [DDL_LOCK]);
    // The schema may have been dropped to rebuild everything.
    await inside.query('create schema if not exists read');
    await inside.query(`create table if not exists read.source_log
      (only_row boolean primary key default true check (only_row), log_id text not null)`);
    await inside.query('insert into read.source_log (log_id) values ($1) on conflict do nothing', [logId]);
    const [row] = await inside.query<{ log_id: string }>('select log_id from read.source_log');
    return row?.log_id ?? logId;
  });
  if (source !== logId) throw new ReadModelsOfAnotherLog(source, logId);
}

/** Everything in `read` was rebuilt: the log found at the next start is the source. */
export async function forgetSourceLog(sql: Sql): Promise<void> {
  const [table] = await sql.query<{ there: boolean }>(
    `select to_regclass('read.source_log') is not null as there`,
  );
  if (table?.there === true) await sql.query('delete from read.source_log');
}
