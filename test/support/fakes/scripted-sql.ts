/** SQL answered from a table of rows: a query is recognised by the view or table it names. */
import type { Row, Sql } from '../../../commands/ports/ports.ts';
import { type SqlText, textOf } from '../../../commands/ports/statement.ts';

export class ScriptedSql implements Sql {
  /** Rows by a word of the query text. Any other query is an error of the test. */
  readonly rows = new Map<string, readonly Row[]>([
    ['work.token_use', []],
    ['vault.audit_signed', []],
  ]);
  /** Parameters of each query, in order. */
  readonly asked: (readonly unknown[])[] = [];

  query<R extends Row = Row>(statement: SqlText, parameters: readonly unknown[] = []): Promise<R[]> {
    const text = textOf(statement);
    this.asked.push(parameters);
    for (const [word, rows] of this.rows) if (text.includes(word)) return Promise.resolve([...rows] as R[]);
    return Promise.reject(new Error(`no rows for ${text}`));
  }

  transaction<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    return work(this);
  }
}
